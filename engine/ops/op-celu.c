/* CELU (Barron 2017). */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  double alpha = loom_infer_float (loom_lower_infer (ctx), "alpha");

  loom_op_lower_elu (ctx, alpha, 1, 1 / alpha);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "alpha=0.5", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_celu = {
  .name = "celu",
  .title = "CELU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-elu-symbolic",
  .doc = "Applies CELU, a continuously differentiable ELU.",
  .details = "The exponential is scaled with alpha, so the derivative is continuous at zero for every alpha; the "
             "derivative of ELU is continuous only for alpha 1.",
  .formula = "y = x for x > 0, else α (eˣ⁄ᵅ − 1)",
  .reference = "torch.nn.CELU",
  .source = "Barron, “Continuously Differentiable Exponential Linear Units”, 2017, arXiv:1704.07483",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = loom_op_param_alpha,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = samples,
};
