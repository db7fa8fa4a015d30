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
  LOOM_OP_COMPARISON (GE),
};
