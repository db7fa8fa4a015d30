/* Power of two: y = 2ˣ. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_exp2 = {
  .name = "exp2",
  .title = "Exponential to base 2",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes 2ˣ of each element.",
  .details = "The derivative is ln 2 · 2ˣ.",
  .formula = "y = 2ˣ",
  .reference = "torch.exp2",
  LOOM_OP_FUNCTION (EXP2, float, any),
};
