/* Exponential: y = eˣ. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_exp = {
  .name = "exp",
  .title = "Exponential",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .usual = TRUE,
  .doc = "Computes the exponential eˣ of each element.",
  .details = "The result is positive. In f32 it overflows to infinity for x above 88.",
  .formula = "y = eˣ",
  .reference = "torch.exp",
  LOOM_OP_FUNCTION (EXP, float, any),
};
