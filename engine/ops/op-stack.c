/* Stack: concatenates tensors of one shape along a new dimension. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "0", "Tensors of equal shape; as many as are wired.", LOOM_PORT_VARIADIC },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The index of the new dimension in the result." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *first = loom_infer_input (ctx, 0);
  LoomShape shape = { .rank = first->shape.rank + 1 };
  LoomDType dtype = first->dtype;
  int axis;

  if (!loom_op_rank (ctx, 0, "0", 0, LOOM_SHAPE_MAX_RANK - 1, "tensors of at most seven dimensions",
                     "The result has one more.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  for (guint i = 1; i < loom_infer_n_inputs (ctx); i++)
    {
      const LoomType *t = loom_infer_input (ctx, i);

      if (!loom_shape_compatible (&first->shape, &t->shape))
        {
          g_autofree char *a = loom_shape_to_string (&first->shape), *b = loom_shape_to_string (&t->shape);
          g_autofree char *port = g_strdup_printf ("%u", i);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                            "%s and %s cannot be stacked: all shapes must be equal. To concatenate along an existing "
                            "dimension use concat.",
                            a, b);
          return;
        }
      dtype = loom_op_promote (dtype, t->dtype);
    }
  for (int i = 0; i < shape.rank; i++)
    shape.dim[i] = i == axis ? loom_dim (loom_infer_n_inputs (ctx)) : first->shape.dim[i < axis ? i : i - 1];
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer_ctx, 0)->dtype);
  guint n = loom_infer_n_inputs (infer_ctx);
  g_autofree LoomValue *part = g_new (LoomValue, n);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims), axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), rank);

  dims[axis] = 1;
  for (guint i = 0; i < n; i++)
    part[i] = loom_reshape (p, loom_cast (p, loom_lower_input (ctx, i), dtype), rank, dims);
  loom_lower_output (ctx, 0, loom_concat (p, n, part, axis));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .params = "dim=1", .inputs = { "f32:B,3", "f32:B,3", "f32:B,3" } },
  { .params = "dim=-1", .inputs = { "f32:2,3", "f32:2,3" } },
  { .inputs = { "f32:", "f32:" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_stack = {
  .name = "stack",
  .title = "Stack",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-stack-symbolic",
  .doc = "Stacks tensors of equal shape along a new dimension.",
  .details = "Three steps of B × 8 become a sequence of B × 3 × 8. Unlike concat it adds a dimension.",
  .formula = "y[…, i, …] = xᵢ",
  .reference = "torch.stack",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
