/* Hyperbolic sine: y = sinh x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sinh = {
  .name = "sinh",
  .title = "Hyperbolic sine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes the hyperbolic sine of each element.",
  .details = "Approximately x near zero and exponential for large |x|. Its derivative is cosh x.",
  .formula = "y = (eˣ − e⁻ˣ) / 2",
  .reference = "torch.sinh",
  LOOM_OP_FUNCTION (SINH, float, any),
};
