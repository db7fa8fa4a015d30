/* Unflatten: splits one dimension into several. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "1", .doc = "The dimension to split." },
  { LOOM_PARAM ("sizes", SHAPE, NULL), LOOM_RANGE (-1, -1),
    .doc = "The sizes of the new dimensions; one of them may be −1 and is inferred." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape sizes = loom_infer_shape (ctx, "sizes"), shape = { 0 };
  LoomShape one = { .rank = 1 };
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                     "Put a reshape before it.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    return;
  one.dim[0] = x->shape.dim[axis];
  if (!loom_op_infer_reshape (ctx, "sizes", &one, &sizes))
    return;
  if (x->shape.rank - 1 + sizes.rank > LOOM_SHAPE_MAX_RANK)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "sizes", "The result would have %d dimensions; %d are possible.",
                        x->shape.rank - 1 + sizes.rank, LOOM_SHAPE_MAX_RANK);
      return;
    }
  for (int i = 0; i < x->shape.rank; i++)
    {
      if (i != axis)
        shape.dim[shape.rank++] = x->shape.dim[i];
      for (int k = 0; i == axis && k < sizes.rank; k++)
        shape.dim[shape.rank++] = sizes.dim[k];
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static const LoomSample samples[] = {
  { .params = "dim=1 sizes=2,3", .inputs = { "f32:B,6" } },
  { .params = "dim=-1 sizes=-1,3", .inputs = { "f32:B,2,6" } },
  { .params = "dim=0 sizes=5,1", .inputs = { "f32:5" } },
  { .params = "dim=0 sizes=B,-1", .inputs = { "f32:8,3" } },
  { .params = "dim=1 sizes=0,2", .inputs = { "f32:3,0" } },
  { NULL },
};

const LoomOp loom_op_unflatten = {
  .name = "unflatten",
  .title = "Unflatten",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-reshape-symbolic",
  .doc = "Splits one dimension into several.",
  .details = "The inverse of flatten: 512 features become 8 heads of 64, for example.",
  .formula = "B × T·C → B × T × C",
  .reference = "torch.unflatten",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = loom_op_lower_reshape,
  .flops = loom_op_no_flops,
  .samples = samples,
};
