/* Quantiles of the elements that are not NaN, as torch.nanquantile. */
#include "engine/ops/family-quantile.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_quantile (ctx, TRUE);
}

const LoomOp loom_op_nanquantile = {
  .name = "nanquantile",
  .title = "Quantile ignoring NaN",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-quantile-symbolic",
  .doc = "Computes quantiles of the elements that are not NaN.",
  .details = "Like quantile, for data with missing values marked by NaN. If all elements are NaN the result is NaN.",
  .formula = "y = x₍ᵣ₎, r = q · (n − 1), counted from 0",
  .reference = "torch.nanquantile",
  .source
  = "Hyndman and Fan, “Sample Quantiles in Statistical Packages”, The American Statistician 50, 1996, definition 7",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_quantile,
  .infer = loom_op_infer_quantile,
  .lower = lower,
  .flops = loom_op_sorted_flops,
  .samples = loom_op_samples_quantile,
};
