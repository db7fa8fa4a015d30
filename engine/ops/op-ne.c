/* Element-wise inequality: y = (a ≠ b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_ne = {
  .name = "ne",
  .title = "Not equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-ne-symbolic",
  .synonyms = "not equal !=",
  .doc = "Tests whether two elements differ.",
  .details = "For example, a mask of all tokens that are not padding. NaN differs from every number, itself included. "
             "Not differentiable.",
  .formula = "y = (a ≠ b)",
  .reference = "torch.ne",
  LOOM_OP_COMPARISON (NE),
};
