/* Shares the code of max, min and their relatives, which return values, positions or both.
 *
 * The kernels support floats and i64; shorter integers are converted to i64 and back. */
#include "engine/ops/op-private.h"

/* ---- ports, parameters, samples --------------------------------------- */

static const LoomPortSpec one[] = { { "out", "The maximum, minimum or median of all elements." }, { NULL } };
const LoomPortSpec loom_op_port_with_index[] = {
  { "out", "The maxima, minima or medians along dim; without dim, a scalar." },
  { "indices", "The index of each value along dim, i64.", LOOM_PORT_OPTIONAL },
  { NULL },
};

const LoomParamSpec loom_op_param_reduced_dim[] = {
  { LOOM_OP_DIM ("dim"), .def = "", .doc = "The dimension to reduce; if not set, all of them." },
  { LOOM_PARAM ("keepdim", BOOL, "false"), .doc = "Whether the result keeps the reduced dimension with size 1." },
  { NULL },
};

const LoomSample loom_op_samples_reduced_dim[] = {
  { .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=-1 keepdim=true", .inputs = { "f32:B,3" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:1" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "f32:0,3" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "i32:2,3" }, .range = "class:9" },
  { .inputs = { "f32:" }, .range = "distinct" },
  { NULL },
};

const LoomSample loom_op_samples_extreme[] = {
  { .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=0,-1 keepdim=true", .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "f32:0,3" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "u8:2,3" }, .range = "class:9" },
  { .inputs = { "f32:" }, .range = "distinct" },
  { NULL },
};

/* ---- inference -------------------------------------------------------- */

gboolean
loom_op_has_elements (LoomInfer *ctx, guint32 axes)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  for (int i = 0; i < x->shape.rank; i++)
    if ((axes >> i & 1) && loom_dim_is_known (x->shape.dim[i]) && x->shape.dim[i].coef == 0)
      {
        g_autofree char *text = loom_shape_to_string (&x->shape);

        loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input",
                          "An empty tensor has no largest or smallest element; the input is %s.", text);
        return FALSE;
      }
  return TRUE;
}

const LoomPortSpec *
loom_op_outputs_with_index (const LoomInfer *ctx)
{
  return loom_infer_is_set (ctx, "dim") ? loom_op_port_with_index : one;
}

/* The axes to reduce: one, or all. */
static gboolean
searched (LoomInfer *ctx, guint32 *axes)
{
  int rank = loom_infer_input (ctx, 0)->shape.rank, axis;

  *axes = (1u << rank) - 1;
  if (loom_infer_is_set (ctx, "dim"))
    {
      if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), rank, &axis))
        return FALSE;
      *axes &= 1u << axis;
    }
  return loom_op_has_elements (ctx, *axes);
}

void
loom_op_infer_with_index (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gboolean along = loom_infer_is_set (ctx, "dim");
  LoomShape shape;
  guint32 axes;

  if (!searched (ctx, &axes))
    return;
  shape = loom_op_reduced_shape (&x->shape, axes, along && loom_infer_bool (ctx, "keepdim"));
  loom_infer_output (ctx, 0, x->dtype, &shape);
  if (along)
    loom_infer_output (ctx, 1, LOOM_I64, &shape);
}

void
loom_op_infer_extreme (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  guint32 axes;

  if (loom_op_axes (ctx, "dim", x->shape.rank, &axes) && loom_op_has_elements (ctx, axes))
    {
      LoomShape shape = loom_op_reduced_shape (&x->shape, axes, loom_infer_bool (ctx, "keepdim"));

      loom_infer_output (ctx, 0, x->dtype, &shape);
    }
}

void
loom_op_infer_arg_extreme (LoomInfer *ctx)
{
  guint32 axes;

  if (searched (ctx, &axes))
    {
      LoomShape shape
          = loom_op_reduced_shape (&loom_infer_input (ctx, 0)->shape, axes, loom_infer_bool (ctx, "keepdim"));

      loom_infer_output (ctx, 0, LOOM_I64, &shape);
    }
}

/* ---- lowering --------------------------------------------------------- */

static LoomValue
searchable (LoomLower *ctx)
{
  LoomValue x = loom_lower_input (ctx, 0);

  return loom_dtype_is_float (loom_op_desc (ctx, x).dtype) ? x : loom_cast (loom_lower_program (ctx), x, LOOM_I64);
}

static void
give (LoomLower *ctx, LoomValue y)
{
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomProgram *p = loom_lower_program (ctx);

  loom_lower_output (ctx, 0, loom_reshape (p, loom_cast (p, y, dtype), rank, dims));
}

static LoomValue
position (LoomLower *ctx, LoomValue x, int axis, gboolean largest)
{
  LoomArgReduceAttrs attrs = { .largest = largest, .axis = axis };

  return loom_emit (loom_lower_program (ctx), loom_prim ("argreduce"), &attrs, 1, &x, NULL);
}

/* Along a dimension only the found position gets the gradient, not all equal elements. The value is therefore
 * selected by position, as a sum over a one-hot mask. */
static void
lower_along (LoomLower *ctx, LoomValue x, int axis, gboolean largest)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  LoomIotaTo count = { .kernel = { .axis = axis, .step = 1 }, .dtype = LOOM_I64, .to.rank = d.rank };
  LoomValue indices = position (ctx, x, axis, largest), hit, y;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 1, dims);

  for (int i = 0; i < d.rank; i++)
    count.to.dim[i] = i == axis ? d.dim[i] : 1;
  hit = loom_binary (p, LOOM_SCALAR_EQ, loom_emit (p, loom_prim ("iota"), &count, 0, NULL, NULL), indices);
  y = loom_ternary (p, LOOM_SCALAR_SELECT, hit, x, loom_op_const_like (ctx, x, 0));
  give (ctx, loom_reduce (p, LOOM_REDUCE_SUM, y, 1u << axis, TRUE));
  loom_lower_output (ctx, 1, loom_reshape (p, indices, rank, dims));
}

void
loom_op_lower_with_index (LoomLower *ctx, gboolean largest)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = searchable (ctx);
  int rank = loom_op_desc (ctx, x).rank;

  if (!loom_infer_is_set (infer, "dim"))
    give (ctx, loom_reduce (p, largest ? LOOM_REDUCE_MAX : LOOM_REDUCE_MIN, x, (1u << rank) - 1, FALSE));
  else if (rank == 0)
    {
      give (ctx, x);
      loom_lower_output (ctx, 1, loom_const (p, LOOM_I64, 0));
    }
  else
    lower_along (ctx, x, loom_op_axis_of (loom_infer_int (infer, "dim"), rank), largest);
}

void
loom_op_lower_extreme (LoomLower *ctx, gboolean largest)
{
  give (ctx, loom_op_reduce (ctx, largest ? LOOM_REDUCE_MAX : LOOM_REDUCE_MIN, searchable (ctx)));
}

/* Without a dimension the position counts the elements in row-major order. */
void
loom_op_lower_arg_extreme (LoomLower *ctx, gboolean largest)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = searchable (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, x);

  if (d.rank > 0 && loom_infer_is_set (infer, "dim"))
    give (ctx, position (ctx, x, loom_op_axis_of (loom_infer_int (infer, "dim"), d.rank), largest));
  else
    give (ctx, position (ctx, loom_reshape (p, x, 1, (gint64[]){ loom_desc_count (&d) }), 0, largest));
}
