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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_SQRT,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
