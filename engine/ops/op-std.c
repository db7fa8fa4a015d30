/* Standard deviation over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_op_root (loom_lower_program (ctx), loom_op_variance (ctx)));
}

const LoomOp loom_op_std = {
  .name = "std",
  .title = "Standard deviation",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-var-symbolic",
  .synonyms = "standard deviation",
  .doc = "Computes the standard deviation of all elements, or along dimensions.",
  .details = "The square root of the variance. By default it divides by n − 1 (Bessel’s correction). If all elements "
             "are equal the gradient is 0.",
  .formula = "y = √(Σ (x − μ)² / (n − correction))",
  .reference = "torch.std",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_variance,
  .infer = loom_op_infer_reduced,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_variance,
};
