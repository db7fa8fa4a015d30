/* Median of the elements, as torch.median. */
#include "engine/ops/family-quantile.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_median (ctx, FALSE);
}

const LoomOp loom_op_median = {
  .name = "median",
  .title = "Median",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-median-symbolic",
  .doc = "Returns the median of all elements, or along a dimension with its indices.",
  .details
  = "For an even number of elements it is the lower of the two middle ones, as in PyTorch; quantile with 0.5 returns "
    "their mean. With dim, the gradient goes to the element at the returned index; without, it is divided evenly "
    "between all elements equal to the median. If there is a NaN the median is NaN; nanmedian ignores NaN.",
  .formula = "y = x₍⌈n/2⌉₎, where x₍₁₎ ≤ x₍₂₎ ≤ …",
  .reference = "torch.median",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_with_index,
  .dynamic_outputs = loom_op_outputs_with_index,
  .params = loom_op_param_reduced_dim,
  .infer = loom_op_infer_with_index,
  .lower = lower,
  .flops = loom_op_sorted_flops,
  .samples = loom_op_samples_reduced_dim,
};
