/* Hard shrinkage: zero for small magnitudes. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("lambd", FLOAT, "0.5"), .doc = "The threshold λ of the magnitude." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), small;

  small = loom_binary (p, LOOM_SCALAR_LE, loom_unary (p, LOOM_SCALAR_ABS, x),
                       loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "lambd")));
  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, small, loom_op_const_like (ctx, x, 0), x));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "lambd=1", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_hardshrink = {
  .name = "hardshrink",
  .title = "Hard shrink",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-shrink-symbolic",
  .doc = "Sets elements with |x| ≤ λ to zero and keeps the others.",
  .details = "For example, it removes small noise from a sparse code. Only elements that are kept get a gradient.",
  .formula = "y = x for |x| > λ, else 0",
  .reference = "torch.nn.Hardshrink",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
