/* Sine: y = sin x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sin = {
  .name = "sin",
  .title = "Sine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the sine of each element, an angle in radians.",
  .details = "Sine and cosine of several frequencies encode positions.",
  .formula = "y = sin x",
  .reference = "torch.sin",
  LOOM_OP_FUNCTION (SIN, float, any),
};
