/* Concatenation along a dimension, as torch.cat. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "0", "Tensors with equal sizes in all other dimensions; as many as are wired.", LOOM_PORT_VARIADIC },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension to concatenate along; 1 is channels or features." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *first = loom_infer_input (ctx, 0);
  LoomShape shape = first->shape;
  LoomDType dtype = first->dtype;
  int axis;

  if (!loom_op_rank (ctx, 0, "0", 1, LOOM_SHAPE_MAX_RANK, "tensors with at least one dimension",
                     "Put a reshape before it.")
      || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  for (guint i = 1; i < loom_infer_n_inputs (ctx); i++)
    {
      const LoomType *t = loom_infer_input (ctx, i);
      LoomShape other = t->shape;

      if (other.rank == shape.rank)
        other.dim[axis] = shape.dim[axis];
      if (!loom_shape_compatible (&shape, &other))
        {
          g_autofree char *a = loom_shape_to_string (&first->shape), *b = loom_shape_to_string (&t->shape);
          g_autofree char *port = g_strdup_printf ("%u", i);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                            "%s and %s cannot be concatenated along dimension %d: all other sizes must be equal.", a, b,
                            axis);
          return;
        }
      shape.dim[axis] = loom_dim_sum (shape.dim[axis], t->shape.dim[axis]);
      dtype = loom_op_promote (dtype, t->dtype);
    }
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  guint n = loom_infer_n_inputs (infer_ctx);
  g_autofree LoomValue *part = g_new (LoomValue, n);
  const LoomType *y = loom_infer_get_output (infer_ctx, 0);

  for (guint i = 0; i < n; i++)
    part[i] = loom_cast (p, loom_lower_input (ctx, i), loom_op_dtype (ctx, y->dtype));
  loom_lower_output (ctx, 0,
                     loom_concat (p, n, part, loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), y->shape.rank)));
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,3", "f32:B,2", "f32:B,1" } },
  { .inputs = { "f32:2,3", "f32:1,3" } },
  { .params = "dim=-1", .inputs = { "f32:2,0", "f32:2,3" } },
  { .params = "dim=1", .inputs = { "f32:1,2,3,3", "f32:1,1,3,3" } },
  { .inputs = { "f32:2" } },
  { NULL },
};

const LoomOp loom_op_concat = {
  .name = "concat",
  .title = "Concatenate",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-concat-symbolic",
  .synonyms = "cat join skip append",
  .usual = TRUE,
  .doc = "Concatenates tensors along a dimension.",
  .details = "Combines the features of several branches for the next layer. Each input gets its slice of the gradient. "
             "In short: cat.",
  .formula = "y = [x₀ | x₁ | …]",
  .reference = "torch.concat",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
