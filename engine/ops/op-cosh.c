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
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_COSH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
