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
  LOOM_OP_COMPARISON (OR),
};
