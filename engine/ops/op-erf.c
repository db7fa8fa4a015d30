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
  LOOM_OP_FUNCTION (ERF, float, any),
};
