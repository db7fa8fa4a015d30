/* Argmin: the index of the minimum. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_arg_extreme (ctx, FALSE);
}

const LoomOp loom_op_argmin = {
  .name = "argmin",
  .title = "Argmin",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-min-symbolic",
  .doc = "Returns the index of the minimum.",
  .details = "Over the distances to cluster centres it is the nearest cluster. Of equal elements the first is "
             "returned. Without dim the index is into the flattened tensor. Not differentiable.",
  .formula = "y = argminᵢ xᵢ",
  .reference = "torch.argmin",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced_dim,
  .infer = loom_op_infer_arg_extreme,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced_dim,
};
