/* Scatter by coordinates: elements or slices written to a tensor. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The initial values of the result." },
  { "indices", "The coordinates along the last dimension, i64; negative ones count from the end." },
  { "updates", "The elements or slices to write." },
  { NULL },
};

static const char *const reductions[] = { "none", "add", "mul", "max", "min", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("reduction", ENUM, "none"), .choices = reductions,
    .doc = "How a value is combined with the present one: none replaces it, the others reduce." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *updates = loom_infer_input (ctx, 2);
  LoomShape shape = loom_infer_input (ctx, 1)->shape;
  gboolean fits;
  int depth;

  if (!loom_op_infer_coordinates (ctx, 0, &depth) || !loom_op_same_dtype (ctx, 0, 2, "updates"))
    return;
  fits = shape.rank - 1 + x->shape.rank - depth <= LOOM_SHAPE_MAX_RANK;
  shape.rank--;
  for (int i = depth; fits && i < x->shape.rank; i++)
    shape.dim[shape.rank++] = x->shape.dim[i];
  if (!fits || !loom_shape_compatible (&shape, &updates->shape))
    {
      g_autofree char *a = loom_shape_to_string (&updates->shape), *b = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "updates", "The updates are %s, but the indices need %s.", a, b);
      return;
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), index, y;
  LoomTensorDesc d = loom_op_desc (ctx, x), i;
  LoomScatterMode mode = LOOM_SCATTER_REPLACE;
  gint64 table[2], rows[2];

  while (!g_str_equal (reductions[mode], loom_infer_string (loom_lower_infer (ctx), "reduction")))
    mode++;
  index = loom_op_coordinates (p, x, loom_lower_input (ctx, 1), 0, table);
  i = loom_op_desc (ctx, index);
  rows[0] = loom_desc_count (&i);
  rows[1] = table[1];
  index = loom_expand_to (p, loom_reshape (p, index, 2, (gint64[]){ rows[0], 1 }), 2, rows);
  y = loom_scatter (p, loom_reshape (p, x, 2, table), index, loom_reshape (p, loom_lower_input (ctx, 2), 2, rows), 0,
                    mode);
  loom_lower_output (ctx, 0, loom_reshape (p, y, d.rank, d.dim));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:4,3", "i64:B,2", "f32:B" }, .range = "class:3" },
  { .params = "reduction=add", .inputs = { "f32:4,3,2", "i64:B,5,1", "f32:B,5,3,2" }, .range = "class:4" },
  { .params = "reduction=max", .inputs = { "f32:4,2", "i64:5,1", "f32:5,2" }, .range = "class:4" },
  { .params = "reduction=min", .inputs = { "f32:4,2", "i64:5,1", "f32:5,2" }, .range = "class:4" },
  { .params = "reduction=mul", .inputs = { "i64:4,2", "i64:5,1", "i64:5,2" }, .range = "class:4" },
  { .inputs = { "f32:4", "i64:0,1", "f32:0" }, .range = "class:4" },
  { NULL },
};

const LoomOp loom_op_scatter_nd = {
  .name = "scatter_nd",
  .title = "Scatter by coordinates",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-scatter-symbolic",
  .doc = "Writes elements or slices into a tensor at given coordinates.",
  .details = "The inverse of gather_nd. If several updates are written to one element the last one wins on every "
             "device; with reduce they are combined with the present value.",
  .formula = "y = x;  y[indices[i, 0], indices[i, 1], …] = updates[i, …]",
  .reference = "ONNX ScatterND",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
