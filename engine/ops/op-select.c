/* Select: one index along a dimension, which is removed. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension to select from." },
  { LOOM_PARAM_FRESH ("index", INT, "0"), .doc = "The index, counted from 0; a negative number counts from the end." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 index = loom_infer_int (ctx, "index");
  LoomShape shape;
  LoomDim size;
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                     "A scalar has no dimension to select from.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    return;
  size = x->shape.dim[axis];
  if (loom_dim_is_known (size) && (index < -size.coef || index >= size.coef))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "index",
                        "There is no index %" PRId64 " in a dimension of size %" PRId64 ".", index, size.coef);
      return;
    }
  shape = loom_op_reduced_shape (&x->shape, 1u << axis, FALSE);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank);
  gint64 index = loom_infer_int (infer_ctx, "index");

  loom_op_output_reshaped (
      ctx, 0, loom_op_slice_axis (loom_lower_program (ctx), x, axis, index < 0 ? index + d.dim[axis] : index, 1, 1));
}

static const LoomSample samples[] = {
  { .params = "dim=1 index=0", .inputs = { "f32:B,T,3" } },
  { .params = "dim=-1 index=-1", .inputs = { "f32:B,3" } },
  { .params = "index=2", .inputs = { "f32:3" } },
  { .params = "dim=1 index=1", .inputs = { "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_select = {
  .name = "select",
  .title = "Select",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-slice-symbolic",
  .doc = "Returns the slice at one index along a dimension.",
  .details = "The dimension is removed. For example, the last step of a sequence, or the first token of a sentence.",
  .formula = "y = x[…, index, …]",
  .reference = "torch.select",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
