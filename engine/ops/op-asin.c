/* Arc sine: y = sin⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_asin = {
  .name = "asin",
  .title = "Arc sine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sin-symbolic",
  .doc = "Computes the arc sine of each element, in radians.",
  .details = "The domain is −1 to 1; outside it the result is NaN. The derivative is infinite at both ends.",
  .formula = "y = sin⁻¹ x",
  .reference = "torch.asin",
  LOOM_OP_FUNCTION (ASIN, float, unit),
};
