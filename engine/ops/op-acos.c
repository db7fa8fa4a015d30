/* Arc cosine: y = cos⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_acos = {
  .name = "acos",
  .title = "Arc cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the arc cosine of each element, in radians.",
  .details = "Converts a cosine similarity to the angle between two vectors. The domain is −1 to 1; outside it the "
             "result is NaN. The derivative is infinite at both ends.",
  .formula = "y = cos⁻¹ x",
  .reference = "torch.acos",
  LOOM_OP_FUNCTION (ACOS, float, unit),
};
