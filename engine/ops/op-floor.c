/* Floor: y = ⌊x⌋. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_unary (ctx, LOOM_SCALAR_FLOOR);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = NULL },
  { .inputs = { "f32:" }, .range = NULL },
  { .inputs = { "f32:1" }, .range = NULL },
  { .inputs = { "f32:0,3" }, .range = NULL },
  { .params = NULL },
};

const LoomOp loom_op_floor = {
  .name = "floor",
  .title = "Floor",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-floor-symbolic",
  .doc = "Rounds every element down to a whole number.",
  .details = "The steps are flat, so the gradient is zero everywhere: nothing in front of a floor learns through it.",
  .formula = "y = ⌊x⌋",
  .reference = "torch.floor",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = lower,
  .samples = samples,
};
