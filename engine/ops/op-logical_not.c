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
  LOOM_OP_PREDICATE (NOT),
};
