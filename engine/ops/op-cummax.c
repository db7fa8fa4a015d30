/* Cumulative maximum along a dimension. */
#include "engine/ops/op-private.h"

static const LoomPortSpec outputs[] = {
  { "out", "The maximum of the elements up to each position." },
  { "indices", "The index of each maximum along dim, i64.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_running_extreme (ctx, TRUE);
}

const LoomOp loom_op_cummax = {
  .name = "cummax",
  .title = "Cumulative maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Computes the cumulative maximum along a dimension, and its indices.",
  .details = "Of equal elements the index of the latest is returned. After a NaN all results are NaN. The gradient "
             "goes to the element that is the maximum.",
  .formula = "yᵢ = max(x₀, x₁, …, xᵢ)",
  .reference = "torch.cummax",
  .inputs = loom_op_port_input,
  .outputs = outputs,
  .params = loom_op_param_running,
  .infer = loom_op_infer_running_extreme,
  .lower = lower,
  .samples = loom_op_samples_running,
};
