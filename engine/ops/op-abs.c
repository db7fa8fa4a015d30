/* Absolute value: y = |x|. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_abs = {
  .name = "abs",
  .title = "Absolute value",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-abs-symbolic",
  .doc = "Computes the absolute value of each element.",
  .details = "The derivative is the sign of the element, and 0 at zero.",
  .formula = "y = |x|",
  .reference = "torch.abs",
  LOOM_OP_FUNCTION (ABS, same, away0),
};
