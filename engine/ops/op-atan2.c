/* Arc tangent of a quotient, with the quadrant. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atan2 = {
  .name = "atan2",
  .title = "Arc tangent of two arguments",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the angle of the point (other, input), in radians.",
  .details = "The arc tangent of input / other in the correct quadrant, from −π to π; other may be 0.",
  .formula = "y = ∠(b, a)",
  .reference = "torch.atan2",
  LOOM_OP_ARITHMETIC (ATAN2, division, pairs),
};
