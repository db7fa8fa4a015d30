/* Sum over all or some dimensions. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  double count;

  loom_lower_output (ctx, 0, loom_op_sums (ctx, &count));
}

const LoomOp loom_op_sum = {
  .name = "sum",
  .title = "Sum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sum-symbolic",
  .synonyms = "add up total",
  .usual = TRUE,
  .doc = "Computes the sum of all elements, or along dimensions.",
  .details = "Each element gets the gradient of the sum that it is part of. Integers and bools are summed as i64.",
  .formula = "y = Σ x",
  .first = LOOM_FIRST_SUM,
  .reference = "torch.sum",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced,
  .infer = loom_op_infer_reduced_whole,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced,
};
