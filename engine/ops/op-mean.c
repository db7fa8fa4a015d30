/* Mean over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  double count;
  LoomValue sums = loom_op_sums (ctx, &count);

  loom_lower_output (
      ctx, 0, loom_binary (loom_lower_program (ctx), LOOM_SCALAR_DIV, sums, loom_op_const_like (ctx, sums, count)));
}

const LoomOp loom_op_mean = {
  .name = "mean",
  .title = "Mean",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-mean-symbolic",
  .synonyms = "average",
  .usual = TRUE,
  .doc = "Computes the mean of all elements, or along dimensions.",
  .details = "Unlike a sum it does not grow with the number of elements, so a loss that is a mean does not depend on "
             "the batch size.",
  .formula = "y = Σ x / n",
  .first = LOOM_FIRST_MEAN,
  .reference = "torch.mean",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_reduced,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced,
};
