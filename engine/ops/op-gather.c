/* Gather: elements along a dimension by their index. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The tensor that is picked from." },
  { "index", "Positions along the dimension, i64; as many dimensions as the input." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis)
      && loom_op_needs_int (ctx, 1, "index") && loom_op_points_into (ctx, 1, "index", &x->shape, axis))
    loom_infer_output (ctx, 0, x->dtype, &loom_infer_input (ctx, 1)->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_at_least_1d (p, loom_lower_input (ctx, 0)), index = loom_lower_input (ctx, 1);
  LoomTensorDesc d = loom_op_desc (ctx, index);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), loom_op_desc (ctx, x).rank);

  loom_lower_output (ctx, 0, loom_reshape (p, loom_gather (p, x, loom_op_at_least_1d (p, index), axis), d.rank, d.dim));
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,5", "i64:B,3" }, .range = "class:5" },
  { .params = "dim=0", .inputs = { "f32:4,3", "i64:6,2" }, .range = "class:4" },
  { .params = "dim=-2", .inputs = { "f32:2,4,3", "i64:2,7,3" }, .range = "class:4" },
  { .params = "dim=0", .inputs = { "f32:5", "i64:0" }, .range = "class:5" },
  { .params = "dim=0", .inputs = { "f32:", "i64:" }, .range = "class:1" },
  { NULL },
};

const LoomOp loom_op_gather = {
  .name = "gather",
  .title = "Gather",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-gather-symbolic",
  .doc = "Picks elements along a dimension by an index for each result.",
  .details = "Every place of the index says which element of its row (or column) comes there. With the true classes as "
             "index it takes one probability out of each row, which is how a loss picks its term. The gradient goes "
             "back to where each element came from, and adds up where one was picked twice.",
  .formula = "y[i,j] = x[i, index[i,j]] for dim = 1",
  .reference = "torch.gather",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = loom_op_param_index_dim,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
