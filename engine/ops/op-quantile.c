/* Quantiles of the elements, as torch.quantile. */
#include "engine/ops/family-quantile.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_quantile (ctx, FALSE);
}

const LoomOp loom_op_quantile = {
  .name = "quantile",
  .title = "Quantile",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-quantile-symbolic",
  .doc = "Computes quantiles of all elements, or along a dimension.",
  .details = "q = 0.9 is the value below which 90 % of the elements are. If it is between two elements, interpolation "
             "determines the result. The gradient goes to the elements that were used. If there is a NaN the result is "
             "NaN; nanquantile ignores NaN. Percentile is the same in hundredths.",
  .formula = "y = x₍ᵣ₎, r = q · (n − 1), counted from 0",
  .reference = "torch.quantile",
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
