/* Element-wise logical or: y = a ∨ b. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_logical_or = {
  .name = "logical_or",
  .title = "Or",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-logical-symbolic",
  .doc = "Computes the element-wise logical OR.",
  .details = "For example, it unites two masks. A number is true unless it is 0. Not differentiable.",
  .formula = "y = a ∨ b",
  .reference = "torch.logical_or",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_OR,
  .infer = loom_op_infer_compare,
  .lower = loom_op_lower_compare,
  .samples = loom_op_samples_compared,
};
