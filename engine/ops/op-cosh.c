/* Hyperbolic cosine. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_cosh = {
  .name = "cosh",
  .title = "Hyperbolic cosine",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Computes half the sum of eˣ and e⁻ˣ.",
  .details = "The curve of a hanging chain. Its logarithm is a loss that is square near zero and straight far "
             "away.",
  .formula = "y = (eˣ + e⁻ˣ) / 2",
  .reference = "torch.cosh",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_COSH,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
