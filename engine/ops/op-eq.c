/* Element-wise equality: y = (a = b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_eq = {
  .name = "eq",
  .title = "Equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-eq-symbolic",
  .synonyms = "equal ==",
  .doc = "Tests whether two elements are equal.",
  .details = "The mean over predictions and labels is the accuracy. Floats that are computed in different ways are "
             "seldom exactly equal. Not differentiable.",
  .formula = "y = (a = b)",
  .reference = "torch.eq",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_EQ,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
