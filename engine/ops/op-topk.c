/* Top k: the k largest (or smallest) elements along a dimension. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("k", INT, "1"), LOOM_RANGE (0, 1e9), .doc = "The number of elements." },
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension to search; -1 is the last." },
  { LOOM_PARAM ("largest", BOOL, "true"), .doc = "Whether the largest elements are returned; else the smallest." },
  { LOOM_PARAM ("sorted", BOOL, "true"),
    .doc = "Whether results are sorted. They are always sorted, also if this is false.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 k = loom_infer_int (ctx, "k");
  LoomShape shape = x->shape;
  int axis;

  if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  if (shape.rank == 0 ? k != 1 : loom_dim_is_known (shape.dim[axis]) && k > shape.dim[axis].coef)
    {
      g_autofree char *text = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "k",
                        "There are no %" PRId64 " elements to keep along dimension %d of %s. Use another k.", k, axis,
                        text);
      return;
    }
  if (shape.rank > 0)
    shape.dim[axis] = loom_dim (k);
  loom_infer_output (ctx, 0, x->dtype, &shape);
  loom_infer_output (ctx, 1, LOOM_I64, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_at_least_1d (p, loom_lower_input (ctx, 0)), indices, y;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), d.rank);
  gint64 start[LOOM_MAX_RANK] = { 0 }, dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  y = loom_sort (p, x, axis, loom_infer_bool (infer_ctx, "largest"), &indices);
  d.dim[axis] = loom_infer_int (infer_ctx, "k");
  loom_lower_output (ctx, 0, loom_reshape (p, loom_slice (p, y, start, NULL, d.dim), rank, dims));
  loom_lower_output (ctx, 1, loom_reshape (p, loom_slice (p, indices, start, NULL, d.dim), rank, dims));
}

static const LoomSample samples[] = {
  { .params = "k=3", .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "k=2 dim=0 largest=false", .inputs = { "f32:4,3" }, .range = "distinct" },
  { .params = "k=6 dim=1 sorted=false", .inputs = { "f32:2,6,3" }, .range = "distinct" },
  { .params = "k=0", .inputs = { "f32:3" }, .range = "distinct" },
  { .params = "k=1", .inputs = { "f32:" }, .range = "distinct" },
  { .params = "k=2", .inputs = { "f32:0,3" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_topk = {
  .name = "topk",
  .title = "Top k",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-sort-symbolic",
  .doc = "Returns the k largest (or smallest) elements along a dimension, and their indices.",
  .details = "Of equal elements the one with the smaller index comes first. Only returned elements get a gradient.",
  .formula = "y = the k largest of x, in order",
  .reference = "torch.topk",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_ordered,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
