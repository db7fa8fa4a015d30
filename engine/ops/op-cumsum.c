/* Cumulative sum along a dimension. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "-1", .doc = "The dimension to sum along." },
  { LOOM_PARAM ("exclusive", BOOL, "false"), .doc = "Whether each sum excludes the element itself.", .advanced = TRUE },
  { LOOM_PARAM ("reverse", BOOL, "false"), .doc = "Whether the sum runs from the last element to the first.",
    .advanced = TRUE },
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
  .title = "Cumulative sum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-cumsum-symbolic",
  .doc = "Computes the cumulative sum along a dimension.",
  .details = "Each element is part of its own sum and all later ones, so the gradient is the cumulative sum of the "
             "gradients from the other end.",
  .formula = "yᵢ = x₀ + x₁ + … + xᵢ",
  .reference = "torch.cumsum",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_running,
  .lower = lower,
  .samples = samples,
};
