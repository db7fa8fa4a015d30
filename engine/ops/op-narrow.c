/* Narrow: a slice given by start and length. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension to slice." },
  { LOOM_PARAM_FRESH ("start", INT, "0"),
    .doc = "The index of the first element; a negative number counts from the end." },
  { LOOM_PARAM_FRESH ("length", INT, "1"), LOOM_RANGE (0, 9e15), .doc = "The number of elements." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 start = loom_infer_int (ctx, "start"), length = loom_infer_int (ctx, "length");
  LoomShape shape = x->shape;
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                     "A scalar cannot be sliced.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    return;
  if (loom_dim_is_known (shape.dim[axis]))
    {
      gint64 size = shape.dim[axis].coef, first = start < 0 ? start + size : start;

      if (first < 0 || first > size || length > size - first)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "length",
                            "%" PRId64 " elements from index %" PRId64 " on exceed a dimension of size %" PRId64 ".",
                            length, start, size);
          return;
        }
    }
  shape.dim[axis] = loom_dim (length);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank);
  gint64 start = loom_infer_int (infer_ctx, "start");

  loom_lower_output (ctx, 0,
                     loom_op_slice_axis (loom_lower_program (ctx), x, axis, start < 0 ? start + d.dim[axis] : start,
                                         loom_infer_int (infer_ctx, "length"), 1));
}

static const LoomSample samples[] = {
  { .params = "dim=1 start=1 length=2", .inputs = { "f32:B,4,2" } },
  { .params = "start=-2 length=2", .inputs = { "f32:5" } },
  { .params = "start=3 length=0", .inputs = { "f32:3,2" } },
  { .params = "start=0 length=3", .inputs = { "f32:3,2" } },
  { NULL },
};

const LoomOp loom_op_narrow = {
  .name = "narrow",
  .title = "Narrow",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-slice-symbolic",
  .doc = "Returns a slice of neighbouring elements along a dimension.",
  .details
  = "Like slice, but given by start and length, so the output size is known even if the size of the input is not.",
  .formula = "y = x[start : start + length]",
  .reference = "torch.narrow",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
