/* Leaky ReLU: a ReLU with a small slope for negative inputs. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("negative_slope", FLOAT, "0.01"), .doc = "The slope for negative inputs." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), zero, below;

  zero = loom_op_const_like (ctx, x, 0);
  below = loom_binary (p, LOOM_SCALAR_MUL, x,
                       loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "negative_slope")));
  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, x, zero), x, below));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "negative_slope=0.2", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_leaky_relu = {
  .name = "leaky_relu",
  .title = "Leaky ReLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-leaky-relu-symbolic",
  .doc = "Applies a ReLU with a small slope for negative inputs.",
  .details = "A unit that is negative for every sample still gets a gradient and can recover.",
  .formula = "y = x for x > 0, else slope · x",
  .reference = "torch.nn.LeakyReLU",
  .source = "Maas, Hannun and Ng, “Rectifier Nonlinearities Improve Neural Network Acoustic Models”, ICML 2013",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
