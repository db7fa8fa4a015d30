/* Index select along a dimension, as torch.index_select. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The tensor to select from." },
  { "index", "The indices along dim, i64 [n]." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "at least one dimension", "A scalar has no slices.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis)
      || !loom_op_needs_int (ctx, 1, "index")
      || !loom_op_rank (ctx, 1, "index", 0, 1, "a list of indices", "For an index with more dimensions use gather."))
    return;
  shape.dim[axis] = loom_shape_count (&loom_infer_input (ctx, 1)->shape);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), index = loom_op_at_least_1d (p, loom_lower_input (ctx, 1));
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), loom_op_desc (ctx, x).rank);

  loom_lower_output (ctx, 0, loom_op_pick_rows (p, x, index, axis));
}

static const LoomSample samples[] = {
  { .params = "dim=0", .inputs = { "f32:5,3", "i64:T" }, .range = "class:5" },
  { .params = "dim=1", .inputs = { "f32:B,5,2", "i64:7" }, .range = "class:5" },
  { .params = "dim=-1", .inputs = { "f32:2,3,4", "i64:3" }, .range = "class:4" },
  { .params = "dim=0", .inputs = { "f32:5", "i64:" }, .range = "class:5" },
  { .params = "dim=1", .inputs = { "f32:2,5", "i64:0" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_index_select = {
  .name = "index_select",
  .title = "Index select",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-gather-symbolic",
  .doc = "Selects slices of a tensor along a dimension by a list of indices.",
  .details = "The list determines which rows, channels or samples the result has, in which order and how often. The "
             "gradients of slices that are selected several times are summed.",
  .formula = "y[i] = x[index[i]] for dim = 0",
  .reference = "torch.index_select",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = loom_op_param_index_dim,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
