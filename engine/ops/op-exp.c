/* Exponential: y = eˣ. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_float_unary (ctx, LOOM_SCALAR_EXP);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = NULL },
  { .inputs = { "f32:" }, .range = NULL },
  { .inputs = { "f32:1" }, .range = NULL },
  { .inputs = { "f32:0,3" }, .range = NULL },
  { .params = NULL },
};

const LoomOp loom_op_exp = {
  .name = "exp",
  .title = "Exponential",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-exp-symbolic",
  .doc = "Raises e to every element.",
  .details
  = "Makes any number positive and turns sums into products. It grows fast: f32 overflows to infinity above 88.",
  .formula = "y = eˣ",
  .reference = "torch.exp",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
