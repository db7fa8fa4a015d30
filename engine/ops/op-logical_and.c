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
  LOOM_OP_COMPARISON (AND),
};
