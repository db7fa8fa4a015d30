/* Variance over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_op_variance (ctx));
}

const LoomOp loom_op_var = {
  .name = "var",
  .title = "Variance",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-var-symbolic",
  .synonyms = "variance",
  .doc = "Computes the variance of all elements, or along dimensions.",
  .details = "By default it divides by n − 1 (Bessel’s correction), as an estimate of the variance of a population; "
             "normalisation layers use correction 0.",
  .formula = "y = Σ (x − μ)² / (n − correction)",
  .reference = "torch.var",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_variance,
  .infer = loom_op_infer_reduced,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_variance,
};
