/* Inverse hyperbolic tangent: y = tanh⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atanh = {
  .name = "atanh",
  .title = "Inverse hyperbolic tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the inverse hyperbolic tangent of each element.",
  .details = "The inverse of tanh. The domain is −1 to 1; the result is infinite at the ends and NaN outside.",
  .formula = "y = ½ ln((1 + x) / (1 − x))",
  .reference = "torch.atanh",
  LOOM_OP_FUNCTION (ATANH, float, unit),
};
