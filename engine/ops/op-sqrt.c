/* Square root: y = √x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sqrt = {
  .name = "sqrt",
  .title = "Square root",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sqrt-symbolic",
  .doc = "Computes the square root of each element.",
  .details = "The square root of a negative number is NaN. The derivative is infinite at zero, so add a small number "
             "first if zeros can occur.",
  .formula = "y = √x",
  .reference = "torch.sqrt",
  LOOM_OP_FUNCTION (SQRT, float, positive),
};
