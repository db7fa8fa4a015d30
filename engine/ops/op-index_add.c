/* Index add along a dimension, as torch.index_add. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The initial values of the result." },
  { "index", "The indices along dim, i64 [n]." },
  { "source", "The slices to add, with size n along dim." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "0", .doc = "The dimension that the index refers to." },
  { LOOM_PARAM ("alpha", FLOAT, "1"), .doc = "The factor of the slices.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *source = loom_infer_input (ctx, 2);
  LoomShape want = x->shape;
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "at least one dimension", "A scalar has no slices.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), want.rank, &axis)
      || !loom_op_needs_int (ctx, 1, "index")
      || !loom_op_rank (ctx, 1, "index", 1, 1, "a list of indices",
                        "For an index with more dimensions use scatter_add.")
      || !loom_op_same_dtype (ctx, 0, 2, "source"))
    return;
  want.dim[axis] = loom_infer_input (ctx, 1)->shape.dim[0];
  if (!loom_shape_compatible (&want, &source->shape))
    {
      g_autofree char *a = loom_shape_to_string (&source->shape), *b = loom_shape_to_string (&want);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "source", "The slices are %s, but the index needs %s.", a, b);
      return;
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), index = loom_lower_input (ctx, 1), source = loom_lower_input (ctx, 2);
  LoomTensorDesc d = loom_op_desc (ctx, x), i = loom_op_desc (ctx, index);
  int axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank);
  double alpha = loom_infer_float (infer_ctx, "alpha");
  gint64 outer = 1, inner = 1, rows[2], column[2] = { 0, 1 };

  for (int k = 0; k < axis; k++)
    outer *= d.dim[k];
  for (int k = axis + 1; k < d.rank; k++)
    inner *= d.dim[k];
  rows[0] = column[0] = outer * i.dim[0];
  rows[1] = inner;
  index = loom_cast (p, loom_op_flat_rows (p, index, outer, d.dim[axis]), LOOM_I64);
  index = loom_expand_to (p, loom_reshape (p, index, 2, column), 2, rows);
  source = loom_reshape (p, source, 2, rows);
  if (alpha != 1)
    source = loom_binary (p, LOOM_SCALAR_MUL, source, loom_op_const_like (ctx, source, alpha));
  x = loom_reshape (p, x, 2, (gint64[]){ outer * d.dim[axis], inner });
  loom_lower_output (ctx, 0, loom_reshape (p, loom_scatter (p, x, index, source, 0, LOOM_SCATTER_ADD), d.rank, d.dim));
}

static const LoomSample samples[] = {
  { .params = "dim=0", .inputs = { "f32:5,3", "i64:T", "f32:T,3" }, .range = "class:5" },
  { .params = "dim=1 alpha=-0.5", .inputs = { "f32:B,5,2", "i64:7", "f32:B,7,2" }, .range = "class:5" },
  { .params = "dim=-1", .inputs = { "i64:2,4", "i64:3", "i64:2,3" }, .range = "class:4" },
  { .params = "dim=0", .inputs = { "f32:5", "i64:0", "f32:0" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_index_add = {
  .name = "index_add",
  .title = "Index add",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-scatter-symbolic",
  .doc = "Adds slices to a tensor at a list of indices.",
  .details = "The inverse of index_select: slice i of source is added to slice index[i] of the input; slices with "
             "equal indices are summed. The gradient of an embedding is computed in this way.",
  .formula = "y = x;  y[index[i]] += alpha · source[i] for dim = 0",
  .reference = "torch.index_add",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
