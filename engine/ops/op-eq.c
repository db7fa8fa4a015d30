/* Element-wise equality: y = (a = b). */
#include "engine/ops/op-private.h"

const LoomOp loom_op_eq = {
  .name = "eq",
  .title = "Equal",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-eq-symbolic",
  .synonyms = "equal ==",
  .doc = "Tests whether two elements are equal.",
  .details = "The mean over predictions and labels is the accuracy. Floats that are computed in different ways are "
             "seldom exactly equal. Not differentiable.",
  .formula = "y = (a = b)",
  .reference = "torch.eq",
  LOOM_OP_COMPARISON (EQ),
};
