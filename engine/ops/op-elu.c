/* ELU (Clevert et al. 2015). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_elu (ctx, loom_infer_float (loom_lower_infer (ctx), "alpha"), 1, 1);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "alpha=0.5", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_elu = {
  .name = "elu",
  .title = "ELU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-elu-symbolic",
  .doc = "Applies the exponential linear unit.",
  .details = "Negative inputs approach −alpha. They have a nonzero derivative, and the mean of the activations is "
             "closer to zero than with ReLU. With alpha 1 the derivative is continuous.",
  .formula = "y = x for x > 0, else α (eˣ − 1)",
  .reference = "torch.nn.ELU",
  .source = "Clevert, Unterthiner and Hochreiter, “Fast and Accurate Deep Network Learning by Exponential Linear Units "
            "(ELUs)”, ICLR 2016, arXiv:1511.07289",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_alpha,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = samples,
};
