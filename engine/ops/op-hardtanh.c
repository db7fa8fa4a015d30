/* Hard tanh: clamps to a range. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("min_val", FLOAT, "-1"), .doc = "The lower bound." },
  { LOOM_PARAM ("max_val", FLOAT, "1"), .doc = "The upper bound." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  const LoomInfer *bounds = loom_lower_infer (ctx);
  LoomValue x = loom_op_operand (ctx, 0), y;

  y = loom_op_clamp_to (ctx, x, loom_infer_float (bounds, "min_val"), LOOM_SCALAR_GT, LOOM_SCALAR_MAX);
  loom_lower_output (ctx, 0,
                     loom_op_clamp_to (ctx, y, loom_infer_float (bounds, "max_val"), LOOM_SCALAR_LT, LOOM_SCALAR_MIN));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "min_val=-0.5 max_val=2", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_hardtanh = {
  .name = "hardtanh",
  .title = "Hard tanh",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-clamp-symbolic",
  .doc = "Limits each element to the range from min_val to max_val.",
  .details = "A piecewise linear approximation of tanh. The derivative is 0 outside the bounds, so units that saturate "
             "stop learning.",
  .formula = "y = min(max(x, min_val), max_val)",
  .reference = "torch.nn.Hardtanh",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
