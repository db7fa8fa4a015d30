/* SELU (Klambauer et al. 2017). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;

  loom_op_lower_elu (ctx, alpha * scale, scale, 1);
}

const LoomOp loom_op_selu = {
  .name = "selu",
  .title = "SELU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-elu-symbolic",
  .doc = "Applies the scaled exponential linear unit.",
  .details
  = "Its constants keep activations near mean 0 and variance 1 through deep stacks of linear layers without "
    "normalisation layers, if the weights are initialised with a normal distribution of variance 1/n for n inputs.",
  .formula = "y = λ (x for x > 0, else α (eˣ − 1))",
  .reference = "torch.nn.SELU",
  .source
  = "Klambauer, Unterthiner, Mayr and Hochreiter, “Self-Normalizing Neural Networks”, NIPS 2017, arXiv:1706.02515",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = loom_op_samples_away0,
};
