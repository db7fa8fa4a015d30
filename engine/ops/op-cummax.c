/* Cummax: the largest element so far, along a dimension. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_running_extreme (ctx, TRUE);
}

const LoomOp loom_op_cummax = {
  .name = "cummax",
  .title = "Running Maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Finds the largest element so far, at every place along a dimension.",
  .details
  = "The record at every moment, and when it was set: of equals the latest. NaN is a record that nothing breaks. "
    "The gradient goes to the element that holds the record.",
  .formula = "yᵢ = max(x₀, x₁, …, xᵢ)",
  .reference = "torch.cummax",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_ordered,
  .params = loom_op_param_running,
  .infer = loom_op_infer_running_extreme,
  .lower = lower,
  .samples = loom_op_samples_running,
};
