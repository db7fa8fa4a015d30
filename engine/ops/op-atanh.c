/* Inverse hyperbolic tangent: y = tanh⁻¹ x. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_atanh = {
  .name = "atanh",
  .title = "Inverse hyperbolic tangent",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Computes the inverse hyperbolic tangent of each element.",
  .details = "The inverse of tanh. The domain is −1 to 1; the result is infinite at the ends and NaN outside.",
  .formula = "y = ½ ln((1 + x) / (1 − x))",
  .reference = "torch.atanh",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ATANH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_unit,
};
