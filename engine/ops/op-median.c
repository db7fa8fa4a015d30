/* Median: the middle of the sorted elements, as torch.median. */
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
  .doc = "The middle of the sorted elements.",
  .details = "Half of the elements are smaller and half are larger, so a few wild ones do not move it. Of two "
             "in the middle it is the lower one, as in PyTorch; quantile with 0.5 gives their mean. With dim "
             "it tells the position too, and the gradient goes to that element; without, all that equal it "
             "share it. Where a NaN is, the median is NaN; nanmedian leaves NaN out.",
  .formula = "y = x₍⌈n/2⌉₎, where x₍₁₎ ≤ x₍₂₎ ≤ …",
  .reference = "torch.median",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_found,
  .dynamic_outputs = loom_op_outputs_found,
  .params = loom_op_param_searched,
  .infer = loom_op_infer_found,
  .lower = lower,
  .flops = loom_op_sorted_flops,
  .samples = loom_op_samples_searched,
};
