/* Scatter add along a dimension, as torch.scatter_add. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The initial values of the result." },
  { "index", "The indices along dim, i64; same number of dimensions as the input." },
  { "src", "The values to add; at least as large as the index." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  loom_op_lower_scatter (ctx, loom_lower_input (ctx, 2), LOOM_SCATTER_ADD);
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,5", "i64:B,3", "f32:B,3" }, .range = "class:5" },
  { .params = "dim=0", .inputs = { "f32:4,3", "i64:6,2", "f32:7,3" }, .range = "class:4" },
  { .params = "dim=-2", .inputs = { "f32:2,4,3", "i64:2,7,3", "f32:2,7,3" }, .range = "class:4" },
  { .params = "dim=0", .inputs = { "f32:5", "i64:0", "f32:0" }, .range = "class:5" },
  { .params = "dim=0", .inputs = { "f32:", "i64:", "f32:" }, .range = "class:1" },
  { NULL },
};

const LoomOp loom_op_scatter_add = {
  .name = "scatter_add",
  .title = "Scatter add",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-scatter-symbolic",
  .doc = "Adds values to a tensor along a dimension by index.",
  .details = "Each element of src is added to the element that index selects; values with equal indices are summed. "
             "Used for histograms and for message passing in graph networks. Sums are computed in the order of the "
             "index, so results are reproducible bit by bit.",
  .formula = "y = x;  y[i, index[i,j]] += src[i,j] for dim = 1",
  .reference = "torch.scatter_add",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = loom_op_param_index_dim,
  .infer = loom_op_infer_scatter,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
