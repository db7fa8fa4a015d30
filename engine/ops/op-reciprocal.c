/* Reciprocal: y = 1/x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_reciprocal = {
  .name = "reciprocal",
  .title = "Reciprocal",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-reciprocal-symbolic",
  .doc = "Computes the reciprocal 1/x of each element.",
  .details = "Value and gradient grow without bound near zero.",
  .formula = "y = 1 / x",
  .reference = "torch.reciprocal",
  LOOM_OP_FUNCTION (RECIP, float, away0),
};
