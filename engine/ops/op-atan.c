/* Arc tangent: y = tan⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atan = {
  .name = "atan",
  .title = "Arc tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-tanh-symbolic",
  .doc = "Computes the arc tangent of each element, in radians.",
  .details = "Maps all numbers to the range from −π/2 to π/2 and saturates more slowly than tanh.",
  .formula = "y = tan⁻¹ x",
  .reference = "torch.atan",
  LOOM_OP_FUNCTION (ATAN, float, any),
};
