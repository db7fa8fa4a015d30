/* Cummax: the largest element so far, along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "dim", .type = LOOM_PARAM_INT, .minimum = -8, .maximum = 7, .doc = "The dimension along which it runs." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_running_extreme (ctx, TRUE);
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:7,3" }, .range = "distinct" },
  { .params = "dim=-2", .inputs = { "f32:2,4,3" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:1" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:0" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "i64:B,5" } },
  { NULL },
};

const LoomOp loom_op_cummax = {
  .name = "cummax",
  .title = "Running Maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Finds the largest element so far, at every place along a dimension.",
  .details
  = "The record at every moment, and when it was set: of equals the latest. NaN is a record that nothing breaks. "
    "The gradient goes to the element that holds the record.",
  .formula = "yᵢ = max(x₀, x₁, …, xᵢ)",
  .reference = "torch.cummax",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_ordered,
  .params = params,
  .infer = loom_op_infer_running_extreme,
  .lower = lower,
  .samples = samples,
};
