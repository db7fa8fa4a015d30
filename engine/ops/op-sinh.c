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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_SINH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
