/* Square root: y = √x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_sqrt = {
  .name = "sqrt",
  .title = "Square root",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sqrt-symbolic",
  .doc = "Takes the square root of every element.",
  .details = "Of a negative number there is none: the result is NaN. The slope at zero is infinite, so add a small "
             "number first where zeros can occur.",
  .formula = "y = √x",
  .reference = "torch.sqrt",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_SQRT,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_positive,
};
