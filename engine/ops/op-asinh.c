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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ASINH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
