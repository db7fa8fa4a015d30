/* Element-wise comparison: y = (a > b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_gt = {
  .name = "gt",
  .title = "Greater than",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-gt-symbolic",
  .synonyms = "greater >",
  .usual = TRUE,
  .doc = "Tests whether the first element is greater than the second.",
  .details = "For example, it compares a logit with a threshold to make a binary decision. Not differentiable.",
  .formula = "y = (a > b)",
  .reference = "torch.gt",
  LOOM_OP_COMPARISON (GT),
};
