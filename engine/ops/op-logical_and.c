/* Element-wise logical and: y = a ∧ b. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_and = {
  .name = "logical_and",
  .title = "And",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Computes the element-wise logical AND.",
  .details
  = "For example, it combines a padding mask with a causal mask. A number is true unless it is 0. Not differentiable.",
  .formula = "y = a ∧ b",
  .reference = "torch.logical_and",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_AND,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
