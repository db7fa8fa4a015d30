/* Cumsum: running sums along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "-1", .doc = "The dimension along which it runs." },
  { .name = "exclusive",
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc = "Leaves the element itself out: each result is the sum of what comes before it.",
    .advanced = TRUE },
  { .name = "reverse", .type = LOOM_PARAM_BOOL, .def = "false", .doc = "Runs from the other end.", .advanced = TRUE },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype);
  LoomValue x = loom_cast (p, loom_lower_input (ctx, 0), dtype), y = loom_op_at_least_1d (p, x);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (infer, "dim"), MAX (d.rank, 1));

  y = loom_cumsum (p, y, axis, loom_infer_bool (infer, "exclusive"), loom_infer_bool (infer, "reverse"));
  loom_lower_output (ctx, 0, loom_reshape (p, y, d.rank, d.dim));
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:7,3" }, .range = "distinct" },
  { .params = "dim=-2", .inputs = { "f32:2,4,3" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:1" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:0" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "i64:B,5" } },
  { .params = "dim=0 exclusive=true", .inputs = { "f32:B,3" } },
  { .params = "dim=1 reverse=true", .inputs = { "f32:B,3" } },
  { .params = "dim=1 exclusive=true reverse=true", .inputs = { "f32:B,3" } },
  { NULL },
};

const LoomOp loom_op_cumsum = {
  .name = "cumsum",
  .title = "Running Sum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Adds up elements along a dimension, with every sum on the way.",
  .details
  = "The account after every booking, the distance after every step. An element counts in its own sum and in all "
    "that follow, so its gradient is the running sum of theirs from the other end.",
  .formula = "yᵢ = x₀ + x₁ + … + xᵢ",
  .reference = "torch.cumsum",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_running,
  .lower = lower,
  .samples = samples,
};
