/* Hyperbolic cosine: y = cosh x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_cosh = {
  .name = "cosh",
  .title = "Hyperbolic cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes the hyperbolic cosine of each element.",
  .details = "Its logarithm is a loss (log-cosh) that is quadratic near zero and linear for large errors.",
  .formula = "y = (eˣ + e⁻ˣ) / 2",
  .reference = "torch.cosh",
  LOOM_OP_FUNCTION (COSH, float, any),
};
