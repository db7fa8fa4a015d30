/* Round: the nearest integer, or multiple of a power of ten. */
#include "engine/ops/op-private.h"

#include <math.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("decimals", INT, "0"), LOOM_RANGE (-30, 30), .unit = "digits",
    .doc = "The number of decimal places; negative numbers round to tens, hundreds, …." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (loom_infer_int (ctx, "decimals") == 0)
    loom_op_infer_same (ctx);
  else
    loom_op_infer_float (ctx);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  gint64 decimals = loom_infer_int (loom_lower_infer (ctx), "decimals");
  LoomValue x = loom_op_operand (ctx, 0), scale;

  if (decimals == 0)
    {
      loom_lower_output (ctx, 0, loom_unary (p, LOOM_SCALAR_ROUND, x));
      return;
    }
  /* Powers of ten are exact, their inverses are not: a negative number of decimals divides first. */
  scale = loom_op_const_like (ctx, x, pow (10, (double)ABS (decimals)));
  x = loom_binary (p, decimals > 0 ? LOOM_SCALAR_MUL : LOOM_SCALAR_DIV, x, scale);
  x = loom_unary (p, LOOM_SCALAR_ROUND, x);
  loom_lower_output (ctx, 0, loom_binary (p, decimals > 0 ? LOOM_SCALAR_DIV : LOOM_SCALAR_MUL, x, scale));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "decimals=1", .inputs = { "f32:B,3" } },
  { .params = "decimals=-1", .inputs = { "f32:4" } },
  { .inputs = { "i64:4" }, .range = "class:9" },
  { .inputs = { "f32:" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_round = {
  .name = "round",
  .title = "Round",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-round-symbolic",
  .doc = "Rounds each element to the nearest integer.",
  .details = "Halves are rounded to the nearest even number. The derivative is 0 everywhere, so layers before it learn "
             "nothing through it.",
  .formula = "y = ⌊x⌉",
  .reference = "torch.round",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
