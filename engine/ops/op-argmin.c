/* Argmin: where the smallest element stands. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_position (ctx, FALSE);
}

const LoomOp loom_op_argmin = {
  .name = "argmin",
  .title = "Position of the minimum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-min-symbolic",
  .doc = "Finds where the smallest element stands.",
  .details = "Among distances to centres it is the cluster that a point belongs to. Of equals it is the first. "
             "No gradient passes.",
  .formula = "y = argminᵢ xᵢ",
  .reference = "torch.argmin",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_searched,
  .infer = loom_op_infer_position,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_searched,
};
