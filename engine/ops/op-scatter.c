/* Scatter: elements put into a tensor by their index. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The initial values of the result." },
  { "index", "Positions along the dimension, i64; as many dimensions as the input." },
  { "src", "The values that are put; left out, the number \"value\".", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const char *const reductions[] = { "none", "add", "multiply", "amax", "amin", NULL };

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "1", .doc = "The dimension along which the index points." },
  { .name = "value",
    .type = LOOM_PARAM_FLOAT,
    .def = "0",
    .doc = "The number that is put everywhere, where no src is wired." },
  { .name = "reduce",
    .type = LOOM_PARAM_ENUM,
    .def = "none",
    .choices = reductions,
    .doc = "How a new number meets the one that is there: it replaces it, or is combined with it." },
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
  .doc = "Puts elements into a tensor at the positions that an index names.",
  .details
  = "The result is the input but for the places that the index names. Where two elements meet in one place the "
    "last one stays, always; with a reduction they are combined instead. A one-hot vector is a 1 scattered "
    "into zeros. Places that were overwritten get no gradient, the elements that stayed get theirs.",
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
