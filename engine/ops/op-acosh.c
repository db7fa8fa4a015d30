/* Inverse hyperbolic cosine: y = cosh⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_acosh = {
  .name = "acosh",
  .title = "Inverse hyperbolic cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the inverse hyperbolic cosine of each element.",
  .details = "Used for distances in hyperbolic space. The domain is x ≥ 1; outside it the result is NaN. At 1 the "
             "derivative is infinite.",
  .formula = "y = ln(x + √(x² − 1))",
  .reference = "torch.acosh",
  LOOM_OP_FUNCTION (ACOSH, float, above1),
};
