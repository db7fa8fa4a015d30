/* Scatter along a dimension, as torch.scatter. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The initial values of the result." },
  { "index", "The indices along dim, i64; same number of dimensions as the input." },
  { "src", "The values to write; if not wired, the number \"value\".", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const char *const reductions[] = { "none", "add", "multiply", "amax", "amin", NULL };

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "1", .doc = "The dimension that the index refers to." },
  { LOOM_PARAM ("value", FLOAT, "0"), .doc = "The number to write if no src is wired." },
  { LOOM_PARAM ("reduce", ENUM, "none"), .choices = reductions,
    .doc = "How a value is combined with the present one: none replaces it, the others reduce." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue src = loom_lower_input (ctx, 2);
  LoomScatterMode mode = LOOM_SCATTER_REPLACE;

  while (!g_str_equal (reductions[mode], loom_infer_string (infer_ctx, "reduce")))
    mode++;
  if (src == 0)
    src = loom_op_const_like (ctx, loom_lower_input (ctx, 0), loom_infer_float (infer_ctx, "value"));
  loom_op_lower_scatter (ctx, src, mode);
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,5", "i64:B,3", "f32:B,3" }, .range = "class:5" },
  { .params = "dim=0 value=0.5", .inputs = { "f32:4,3", "i64:6,2" }, .range = "class:4" },
  { .params = "dim=-2 reduce=add", .inputs = { "f32:2,4,3", "i64:2,7,3", "f32:2,7,3" }, .range = "class:4" },
  { .params = "dim=1 reduce=amax", .inputs = { "f32:2,4", "i64:2,5", "f32:2,5" }, .range = "class:4" },
  { .params = "dim=1 reduce=amin", .inputs = { "f32:2,4", "i64:2,5", "f32:2,6" }, .range = "class:4" },
  { .params = "dim=0 reduce=multiply", .inputs = { "i64:4", "i64:2", "i64:2" }, .range = "class:4" },
  { .params = "dim=0", .inputs = { "f32:5", "i64:0", "f32:0" }, .range = "class:5" },
  { .params = "dim=0", .inputs = { "f32:", "i64:", "f32:" }, .range = "class:1" },
  { NULL },
};

const LoomOp loom_op_scatter = {
  .name = "scatter",
  .title = "Scatter",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-scatter-symbolic",
  .doc = "Writes values into a tensor along a dimension by index.",
  .details = "The inverse of gather: src[i,j] is written to the element that index[i,j] selects. If several values are "
             "written to one element the last one wins on every device; with reduce they are combined. Elements that "
             "are replaced get no gradient.",
  .formula = "y = x;  y[i, index[i,j]] = src[i,j] for dim = 1",
  .reference = "torch.scatter",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_scatter,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
