/* Tangent: y = tan x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_tan = {
  .name = "tan",
  .title = "Tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the tangent of each element, an angle in radians.",
  .details = "It has poles at odd multiples of π/2. Its derivative is 1 + tan² x.",
  .formula = "y = sin x / cos x",
  .reference = "torch.tan",
  LOOM_OP_FUNCTION (TAN, float, unit),
};
