/* Inverse hyperbolic sine: y = sinh⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_asinh = {
  .name = "asinh",
  .title = "Inverse hyperbolic sine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the inverse hyperbolic sine of each element.",
  .details = "Approximately x near zero and logarithmic for large |x|, so it compresses large values of either sign.",
  .formula = "y = ln(x + √(x² + 1))",
  .reference = "torch.asinh",
  LOOM_OP_FUNCTION (ASINH, float, any),
};
