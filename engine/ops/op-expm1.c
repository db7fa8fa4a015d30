/* Exponential minus 1: y = eˣ - 1, accurate near zero. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_expm1 = {
  .name = "expm1",
  .title = "Exponential minus 1",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes eˣ − 1 of each element, accurately near zero.",
  .details = "For small x, subtracting 1 from the exponential would lose digits. The negative branch of ELU uses it.",
  .formula = "y = eˣ − 1",
  .reference = "torch.expm1",
  LOOM_OP_FUNCTION (EXPM1, float, any),
};
