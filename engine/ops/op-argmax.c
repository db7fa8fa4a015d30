/* Argmax: the index of the maximum. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_arg_extreme (ctx, TRUE);
}

const LoomOp loom_op_argmax = {
  .name = "argmax",
  .title = "Argmax",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .synonyms = "prediction winner",
  .doc = "Returns the index of the maximum.",
  .details
  = "Over the class dimension of logits it is the predicted class. Of equal elements the first is returned. Without "
    "dim the index is into the flattened tensor. Not differentiable; softmax is the differentiable alternative.",
  .formula = "y = argmaxᵢ xᵢ",
  .reference = "torch.argmax",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_reduced_dim,
  .infer = loom_op_infer_arg_extreme,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = loom_op_samples_reduced_dim,
};
