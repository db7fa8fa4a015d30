/* Take along dim: gather with an index that broadcasts. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The tensor to gather from." },
  { "indices", "The indices along dim, i64; the other dimensions broadcast." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "",
    .doc = "The dimension that the index refers to; if not set, both tensors are flattened." },
  { NULL },
};

/* Both, expanded to a common shape, with their own sizes along the axis. */
static gboolean
broadcast (LoomInfer *ctx, int axis, LoomShape *shape)
{
  LoomShape a = loom_infer_input (ctx, 0)->shape, b = loom_infer_input (ctx, 1)->shape;
  g_autofree char *text_a = loom_shape_to_string (&a), *text_b = loom_shape_to_string (&b);

  if (a.rank == b.rank)
    {
      LoomDim along = b.dim[axis];

      a.dim[axis] = b.dim[axis] = loom_dim (1);
      if (loom_shape_broadcast (&a, &b, shape))
        {
          shape->dim[axis] = along;
          return TRUE;
        }
    }
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "indices",
                    "The indices are %s and refer to %s along dimension %d. They need the same number of dimensions, "
                    "and each other size must be the same or 1.",
                    text_b, text_a, axis);
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = { .rank = 1 };
  int axis;

  if (!loom_op_needs_int (ctx, 1, "indices"))
    return;
  if (!loom_infer_is_set (ctx, "dim"))
    shape.dim[0] = loom_shape_count (&loom_infer_input (ctx, 1)->shape);
  else if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "at least one dimension", "Leave dim out.")
           || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis)
           || !broadcast (ctx, axis, &shape))
    return;
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), index = loom_lower_input (ctx, 1);
  LoomTensorDesc d = loom_op_desc (ctx, x), i = loom_op_desc (ctx, index);
  gint64 dims[LOOM_MAX_RANK], count;
  int rank = loom_op_output_dims (ctx, 0, dims), axis = 0;

  if (!loom_infer_is_set (infer_ctx, "dim"))
    {
      count = loom_desc_count (&d);
      x = loom_reshape (p, x, 1, &count);
      count = loom_desc_count (&i);
      index = loom_reshape (p, index, 1, &count);
    }
  else
    {
      axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank);
      index = loom_expand_to (p, index, rank, dims);
      dims[axis] = d.dim[axis];
      x = loom_expand_to (p, x, rank, dims);
    }
  loom_lower_output (ctx, 0, loom_gather (p, x, index, axis));
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,5", "i64:B,3" }, .range = "class:5" },
  { .params = "dim=1", .inputs = { "f32:3,5", "i64:1,2" }, .range = "class:5" },
  { .params = "dim=-2", .inputs = { "f32:1,4,3", "i64:2,7,1" }, .range = "class:4" },
  { .inputs = { "f32:2,3", "i64:2,2" }, .range = "class:6" },
  { .params = "dim=0", .inputs = { "f32:5", "i64:0" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_take_along_dim = {
  .name = "take_along_dim",
  .title = "Take along dimension",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-gather-symbolic",
  .doc = "Gathers elements along a dimension by indices such as those of argmax or argsort.",
  .details = "Like gather, but dimensions of size 1 broadcast, so the indices of argsort, or of argmax with keepdim, "
             "can be used directly. Without dim both tensors are flattened.",
  .formula = "y[i,j] = x[i, indices[i,j]] for dim = 1",
  .reference = "torch.take_along_dim",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
