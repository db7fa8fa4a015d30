/* Cumulative minimum along a dimension. */
#include "engine/ops/op-private.h"

static const LoomPortSpec outputs[] = {
  { "out", "The minimum of the elements up to each position." },
  { "indices", "The index of each minimum along dim, i64.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_running_extreme (ctx, FALSE);
}

const LoomOp loom_op_cummin = {
  .name = "cummin",
  .title = "Cumulative minimum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Computes the cumulative minimum along a dimension, and its indices.",
  .details = "Of equal elements the index of the latest is returned. After a NaN all results are NaN. The gradient "
             "goes to the element that is the minimum.",
  .formula = "yᵢ = min(x₀, x₁, …, xᵢ)",
  .reference = "torch.cummin",
  .inputs = loom_op_port_input,
  .outputs = outputs,
  .params = loom_op_param_running,
  .infer = loom_op_infer_running_extreme,
  .lower = lower,
  .samples = loom_op_samples_running,
};
