/* Element-wise logical not: y = ¬x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_not = {
  .name = "logical_not",
  .title = "Not",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-not-symbolic",
  .doc = "Computes the element-wise logical NOT.",
  .details = "A number is true unless it is 0. Not differentiable.",
  .formula = "y = ¬x",
  .reference = "torch.logical_not",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .scalar = LOOM_SCALAR_NOT,
  .infer = loom_op_infer_predicate,
  .lower = loom_op_lower_predicate,
  .samples = loom_op_samples_tested,
};
