/* Logarithm: y = ln x. */
#include "engine/ops/op-private.h"

static void
lower (LoomLower *ctx)
{
  loom_op_lower_float_unary (ctx, LOOM_SCALAR_LOG);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "positive" },
  { .inputs = { "f32:" }, .range = "positive" },
  { .inputs = { "f32:1" }, .range = "positive" },
  { .inputs = { "f32:0,3" }, .range = "positive" },
  { .params = NULL },
};

const LoomOp loom_op_log = {
  .name = "log",
  .title = "Logarithm",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-log-symbolic",
  .doc = "Takes the natural logarithm of every element.",
  .details = "Turns products into sums. Zero gives minus infinity and a negative number NaN; for the logarithm of a "
             "softmax use log_softmax, which stays finite.",
  .formula = "y = ln x",
  .reference = "torch.log",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_float,
  .lower = lower,
  .samples = samples,
};
