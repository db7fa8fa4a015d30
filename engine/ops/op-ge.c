/* Element-wise comparison: y = (a ≥ b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_ge = {
  .name = "ge",
  .title = "Greater or equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-ge-symbolic",
  .synonyms = "greater equal >=",
  .doc = "Tests whether the first element is greater than or equal to the second.",
  .details = "For example, a mask of the values that reach a threshold. Not differentiable.",
  .formula = "y = (a ≥ b)",
  .reference = "torch.ge",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_GE,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
