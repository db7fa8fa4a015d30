/* Element-wise comparison: y = (a < b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_lt = {
  .name = "lt",
  .title = "Less than",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-lt-symbolic",
  .synonyms = "less <",
  .doc = "Tests whether the first element is less than the second.",
  .details = "For example, uniform random numbers below p give a random mask with probability p. Not differentiable.",
  .formula = "y = (a < b)",
  .reference = "torch.lt",
  LOOM_OP_COMPARISON (LT),
};
