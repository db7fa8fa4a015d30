/* Absolute value: y = |x|. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_unary (ctx, LOOM_SCALAR_ABS);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:1" }, .range = "away0" },
  { .inputs = { "f32:0,3" }, .range = "away0" },
  { .params = NULL },
};

const LoomOp loom_op_abs = {
  .name = "abs",
  .title = "Absolute value",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-abs-symbolic",
  .doc = "Drops the sign of every element.",
  .details = "Measures a distance from zero. Its slope is the sign, and 0 at zero itself.",
  .formula = "y = |x|",
  .reference = "torch.abs",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = lower,
  .samples = samples,
};
