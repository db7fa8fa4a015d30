/* Sign: -1, 0 or 1. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sign = {
  .name = "sign",
  .title = "Sign",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sign-symbolic",
  .doc = "Returns the sign of each element: −1, 0 or 1.",
  .details = "Used in sign descent and the Lion optimiser. The derivative is 0 everywhere.",
  .formula = "y = −1, 0 or 1",
  .reference = "torch.sign",
  LOOM_OP_FUNCTION (SIGN, same, away0),
};
