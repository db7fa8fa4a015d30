/* Constant: numbers that stand in the graph itself. */
#include "engine/ops/op-private.h"

/* What a person types into an attribute; larger tables belong into a file. */
#define MAX_VALUES 256

static const LoomParamSpec params[] = {
  { .name = "value",
    .type = LOOM_PARAM_FLOATS,
    .doc = "One number for every place, or all of them in order: “1,0,0,1”." },
  { .name = "shape",
    .type = LOOM_PARAM_SHAPE,
    .def = "",
    .doc = "Sizes of the dimensions; left out, a single number or a plain list." },
  { .name = "dtype", .type = LOOM_PARAM_DTYPE, .def = "f32", .doc = "The type of the elements.", .advanced = TRUE },
  { NULL },
};

static guint
values_of (const LoomInfer *ctx, double values[MAX_VALUES + 1])
{
  return loom_infer_floats (ctx, "value", values, MAX_VALUES + 1);
}

static void
infer (LoomInfer *ctx)
{
  double values[MAX_VALUES + 1];
  guint n = values_of (ctx, values);
  LoomShape shape = loom_infer_shape (ctx, "shape");
  LoomDim count;

  if (n == 0 || n > MAX_VALUES)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "value", "A constant has 1 to %d numbers; for more use an input.",
                        MAX_VALUES);
      return;
    }
  if (!loom_infer_is_set (ctx, "shape") && n > 1)
    shape = loom_shape (1, (gint64[]){ n });
  count = loom_shape_count (&shape);
  if (n > 1 && !loom_dim_compatible (count, loom_dim (n)))
    {
      g_autofree char *text = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "value", "%u numbers do not fill %s. Give one, or one for each place.",
                        n, text);
      return;
    }
  loom_infer_output (ctx, 0, loom_infer_dtype (ctx, "dtype"), &shape);
}

/* A list becomes runs of equal numbers put one after the other, so a program needs no literal of its own. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_dtype (loom_lower_infer (ctx), "dtype"));
  double values[MAX_VALUES + 1];
  guint n = values_of (loom_lower_infer (ctx), values), n_parts = 0;
  LoomValue part[MAX_VALUES];
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (n == 1)
    {
      loom_lower_output (ctx, 0, loom_fill (p, dtype, rank, dims, values[0]));
      return;
    }
  for (guint i = 0; i < n;)
    {
      guint first = i;

      while (i < n && values[i] == values[first])
        i++;
      part[n_parts++] = loom_fill (p, dtype, 1, (gint64[]){ i - first }, values[first]);
    }
  loom_lower_output (ctx, 0, loom_reshape (p, loom_concat (p, n_parts, part, 0), rank, dims));
}

static const LoomSample samples[] = {
  { .params = "value=2.5" },         { .params = "value=1,0,0,1 shape=2,2" },   { .params = "value=1,2,3" },
  { .params = "value=0 shape=B,3" }, { .params = "value=3 shape=2 dtype=i64" }, { NULL },
};

const LoomOp loom_op_constant = {
  .name = "constant",
  .title = "Constant",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-constant-symbolic",
  .doc = "Numbers that never change.",
  .details = "A factor, a mask or a small table that belongs to the design and not to the data. It is never trained; a "
             "tensor that learns is a parameter.",
  .formula = "y = c",
  .reference = "torch.full",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
