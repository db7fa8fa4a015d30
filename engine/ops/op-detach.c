/* Detach: the value passes, the gradient does not. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_detach (loom_lower_program (ctx), loom_lower_input (ctx, 0)));
}

static const LoomSample samples[] = { { .inputs = { "f32:B,3" } }, { .inputs = { "f32:" } }, { NULL } };

const LoomOp loom_op_detach = {
  .name = "detach",
  .title = "Detach",
  .category = LOOM_CATEGORY_TRAINING,
  .icon = "loom-detach-symbolic",
  .synonyms = "stop gradient no_grad",
  .usual = TRUE,
  .doc = "Returns its input unchanged and stops the gradient.",
  .details = "The operators before it get no gradient through this path. Use it if the output of a network is also a "
             "target, or to train one part of a network while another is fixed. Also called stop gradient.",
  .formula = "y = x, ∂y/∂x = 0",
  .reference = "torch.Tensor.detach",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
