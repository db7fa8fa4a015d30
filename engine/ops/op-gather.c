/* Gather along a dimension, as torch.gather. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The tensor to gather from." },
  { "index", "The indices along dim, i64; same number of dimensions as the input." },
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
  .doc = "Gathers elements along a dimension by index.",
  .details = "The output has the shape of index: each element of index selects an element of the input along dim. For "
             "example, with target classes as index it selects the probability of the target. The gradient is added at "
             "the elements that were selected, once per selection.",
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
