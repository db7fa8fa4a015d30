/* Arange: start, start + step, …, before end. */
#include "engine/ops/op-private.h"

#include <math.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("start", FLOAT, "0"), .doc = "The first element." },
  { LOOM_PARAM ("end", FLOAT, ""), .doc = "The end of the range, which is excluded; ignored if “like” is wired." },
  { LOOM_PARAM ("step", FLOAT, "1"), .doc = "The difference between successive elements; may be negative." },
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension of “like” whose size is the number of elements." },
  { LOOM_PARAM ("dtype", DTYPE, ""),
    .doc = "The type of the elements. If not set: i64 if start, end and step are integers, else f32." },
  { NULL },
};

static gboolean
is_integer (const LoomInfer *ctx, const char *name)
{
  double value = loom_infer_float (ctx, name);

  return !loom_infer_is_set (ctx, name) || value == floor (value);
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *like = loom_infer_input (ctx, 0);
  double start = loom_infer_float (ctx, "start"), end = loom_infer_float (ctx, "end");
  double step = loom_infer_float (ctx, "step"), n = step != 0 ? ceil ((end - start) / step) : 0;
  gboolean whole = is_integer (ctx, "start") && is_integer (ctx, "end") && is_integer (ctx, "step");
  LoomShape shape = { .rank = 1 };
  int axis;

  if ((like != NULL) == loom_infer_is_set (ctx, "end"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "end",
                        "arange needs a length: give end, or wire a tensor into “like”, but not both.")
          ->is_todo
          = like == NULL;
      return;
    }
  if (like == NULL && (step == 0 || n < 0 || n > LOOM_MAX_ELEMENTS))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "step", "A range from %g to %g cannot have steps of %g.", start, end,
                        step);
      return;
    }
  if (like == NULL)
    shape.dim[0] = loom_dim ((gint64)n);
  else if (!loom_op_rank (ctx, 0, "like", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                          "A scalar has no size.")
           || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), like->shape.rank, &axis))
    return;
  else
    shape.dim[0] = like->shape.dim[axis];
  loom_infer_output (ctx, 0,
                     loom_infer_is_set (ctx, "dtype") ? loom_infer_dtype (ctx, "dtype")
                     : whole                          ? LOOM_I64
                                                      : LOOM_F32,
                     &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer_ctx, 0)->dtype);
  gint64 dims[LOOM_MAX_RANK];

  loom_op_output_dims (ctx, 0, dims);
  loom_lower_output (ctx, 0,
                     loom_op_iota_along (loom_lower_program (ctx), dtype, 1, 0, dims[0],
                                         loom_infer_float (infer_ctx, "start"), loom_infer_float (infer_ctx, "step")));
}

static const LoomSample samples[] = {
  { .params = "end=5" },
  { .params = "start=1 end=0 step=-0.25" },
  { .params = "start=3 end=3" },
  { .params = "dim=1", .inputs = { "i64:B,T" }, .range = "class:5" },
  { .params = "start=1 dtype=f32", .inputs = { "f32:3" } },
  { NULL },
};

const LoomOp loom_op_arange = {
  .name = "arange",
  .title = "Range",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-arange-symbolic",
  .doc = "Returns evenly spaced numbers from start up to, but not including, end.",
  .details
  = "If a sequence is wired into “like”, it returns the positions 0, 1, 2 … of that sequence, for example for a "
    "position embedding. Otherwise start, end and step have the meaning that they have in Python’s range().",
  .formula = "yᵢ = start + i · step",
  .reference = "torch.arange",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
