/* Median of the elements that are not NaN, as torch.nanmedian. */
#include "engine/ops/family-quantile.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_median (ctx, TRUE);
}

const LoomOp loom_op_nanmedian = {
  .name = "nanmedian",
  .title = "Median ignoring NaN",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-median-symbolic",
  .doc = "Returns the median of the elements that are not NaN, or along a dimension with its indices.",
  .details = "Like median, for data with missing values marked by NaN. If all elements are NaN the result is NaN.",
  .formula = "y = x₍⌈n/2⌉₎, where x₍₁₎ ≤ x₍₂₎ ≤ …",
  .reference = "torch.nanmedian",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_with_index,
  .dynamic_outputs = loom_op_outputs_with_index,
  .params = loom_op_param_reduced_dim,
  .infer = loom_op_infer_with_index,
  .lower = lower,
  .flops = loom_op_sorted_flops,
  .samples = loom_op_samples_reduced_dim,
};
