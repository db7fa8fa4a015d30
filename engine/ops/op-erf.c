/* Error function. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_erf = {
  .name = "erf",
  .title = "Error function",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sigmoid-symbolic",
  .doc = "Computes the error function of each element.",
  .details
  = "erf(x/√2) is the probability that a standard normal number lies between −x and x. The exact GELU uses it.",
  .formula = "y = 2/√π · ∫₀ˣ e⁻ᵗ² dt",
  .reference = "torch.erf",
  .source = "Abramowitz and Stegun, “Handbook of Mathematical Functions”, 1964, chapter 7",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .scalar = LOOM_SCALAR_ERF,
  .lower = loom_op_lower_unary,
  .samples = loom_op_samples_any,
};
