/* Threshold: replaces small elements by a number. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("threshold", FLOAT, "0"), .doc = "Elements above this are kept." },
  { LOOM_PARAM_FRESH ("value", FLOAT, "0"), .doc = "The number that replaces the other elements." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  const LoomInfer *given = loom_lower_infer (ctx);
  LoomValue x = loom_op_operand (ctx, 0), replaced;

  /* Compared in this direction, NaN is kept. */
  replaced = loom_binary (p, LOOM_SCALAR_LE, x, loom_op_const_like (ctx, x, loom_infer_float (given, "threshold")));
  loom_lower_output (ctx, 0,
                     loom_ternary (p, LOOM_SCALAR_SELECT, replaced,
                                   loom_op_const_like (ctx, x, loom_infer_float (given, "value")), x));
}

static const LoomSample samples[] = {
  { .params = "threshold=0.1 value=20", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "threshold=-0.1 value=-3", .inputs = { "f32:" }, .range = "away0" },
  { .params = "threshold=0 value=0", .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_threshold = {
  .name = "threshold",
  .title = "Threshold",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-relu-symbolic",
  .doc = "Replaces elements that are not above a threshold by a number.",
  .details = "With threshold 0 and value 0 it is ReLU. Replaced elements get no gradient.",
  .formula = "y = x for x > threshold, else value",
  .reference = "torch.nn.Threshold",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
