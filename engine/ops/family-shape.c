/* Shares the code of operators that slice, repeat and create tensors: slices along an axis, copies along it, counters,
 * bands of a matrix, and numbered outputs.
 *
 * Everything is lowered to slice, pad, expand, reshape and iota, which are the gradients of each other. */
#include "engine/ops/op-private.h"

const LoomPortSpec loom_op_port_like[] = {
  { "like", "A tensor that sets the shape; its values are not used.", LOOM_PORT_OPTIONAL },
  { NULL },
};

/* All lists are in one triangle that is made once and never freed: list n begins at n·(n + 1)/2 and ends with a
 * zero. */
static gpointer
make_ports (gpointer unused)
{
  LoomPortSpec *all = g_new0 (LoomPortSpec, (LOOM_OP_MAX_OUTPUTS + 1) * (LOOM_OP_MAX_OUTPUTS + 2) / 2);

  for (guint n = 1; n <= LOOM_OP_MAX_OUTPUTS; n++)
    {
      for (guint i = 0; i < n; i++)
        {
          g_autofree char *name = g_strdup_printf ("%u", i);

          all[n * (n + 1) / 2 + i].name = g_intern_string (name);
          all[n * (n + 1) / 2 + i].doc = "One chunk of the input, in order.";
        }
    }
  return all;
}

const LoomPortSpec *
loom_op_numbered_ports (guint n)
{
  static GOnce once = G_ONCE_INIT;
  const LoomPortSpec *all = g_once (&once, make_ports, NULL);

  n = MIN (n, LOOM_OP_MAX_OUTPUTS);
  return all + n * (n + 1) / 2;
}

gboolean
loom_op_infer_reshape (LoomInfer *ctx, const char *name, const LoomShape *from, LoomShape *shape)
{
  LoomDim rest = loom_dim (1), count = loom_shape_count (from);
  int dynamic = -1, n_dynamic = 0;
  g_autofree char *have = loom_shape_to_string (from), *want = loom_shape_to_string (shape);

  for (int i = 0; i < shape->rank; i++)
    {
      if (loom_dim_is_unknown (shape->dim[i]))
        {
          dynamic = i;
          n_dynamic++;
        }
      else
        rest = loom_dim_mul (rest, shape->dim[i]);
    }
  if (n_dynamic > 1)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, name, "Only one size can be −1; it is inferred from the others.");
      return FALSE;
    }
  if (dynamic < 0 && loom_dim_compatible (count, rest))
    return TRUE;
  /* With symbols the size may become divisible once they are bound, so it is unknown until then. */
  if (dynamic >= 0
      && (loom_dim_div (count, rest, &shape->dim[dynamic]) || !loom_dim_is_known (count) || !loom_dim_is_known (rest)))
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, name,
                    "%s cannot be reshaped to %s: the number of elements must stay the same.", have, want);
  return FALSE;
}

/* ---- parts of an axis ------------------------------------------------- */

LoomDim
loom_op_slice_size (LoomDim size, const gint64 *start, const gint64 *end, gint64 step, gint64 *first)
{
  gint64 n = size.coef, low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1, from, to, count;

  *first = 0;
  if (!loom_dim_is_known (size))
    {
      gboolean whole = (start == NULL || (step > 0 && *start == 0)) && end == NULL && ABS (step) == 1;

      return whole ? size : loom_dim_unknown ();
    }
  from = start == NULL ? (step > 0 ? 0 : n - 1) : CLAMP (*start < 0 ? *start + n : *start, low, high);
  to = end == NULL ? (step > 0 ? n : -1) : CLAMP (*end < 0 ? *end + n : *end, low, high);
  count = step > 0 ? to - from : from - to;
  if (count <= 0)
    return loom_dim (0);
  *first = from;
  return loom_dim ((count - 1) / ABS (step) + 1);
}

LoomValue
loom_op_slice_axis (LoomProgram *p, LoomValue v, int axis, gint64 start, gint64 count, gint64 step)
{
  LoomTensorDesc x = loom_value_info (p, v)->desc;
  gint64 starts[LOOM_MAX_RANK] = { 0 }, steps[LOOM_MAX_RANK];

  for (int i = 0; i < x.rank; i++)
    steps[i] = 1;
  starts[axis] = start;
  steps[axis] = step;
  x.dim[axis] = count;
  return loom_slice (p, v, starts, steps, x.dim);
}

/* The axis is paired with an axis of size 1 that is expanded, with all axes before and after merged: rank 3 is
 * enough. */
LoomValue
loom_op_repeat (LoomProgram *p, LoomValue v, int axis, gint64 times, gboolean each)
{
  LoomTensorDesc x = loom_value_info (p, v)->desc;
  gint64 before = 1, trailing = 1, n = x.dim[axis];

  if (times == 1)
    return v;
  for (int i = 0; i < axis; i++)
    before *= x.dim[i];
  for (int i = axis + 1; i < x.rank; i++)
    trailing *= x.dim[i];
  if (each)
    {
      before *= n;
      n = 1;
    }
  v = loom_reshape (p, v, 3, (gint64[]){ before, 1, n * trailing });
  v = loom_expand_to (p, v, 3, (gint64[]){ before, times, n * trailing });
  x.dim[axis] *= times;
  return loom_reshape (p, v, x.rank, x.dim);
}

/* ---- counters and bands ------------------------------------------------ */

LoomValue
loom_op_iota_along (LoomProgram *p, LoomDType dtype, int rank, int axis, gint64 n, double start, double step)
{
  LoomIotaTo attrs = { .kernel = { .axis = axis, .start = start, .step = step }, .dtype = dtype, .to.rank = rank };

  for (int i = 0; i < rank; i++)
    attrs.to.dim[i] = i == axis ? n : 1;
  return loom_emit (p, loom_prim ("iota"), &attrs, 0, NULL, NULL);
}

LoomValue
loom_op_band (LoomProgram *p, gint64 rows, gint64 columns, gint64 diagonal, LoomScalarOp op)
{
  LoomValue row = loom_op_iota_along (p, LOOM_I64, 2, 0, rows, (double)diagonal, 1);

  return loom_binary (p, op, row, loom_op_iota_along (p, LOOM_I64, 2, 1, columns, 0, 1));
}

gint64
loom_op_diagonal_size (gint64 rows, gint64 columns, gint64 offset)
{
  gint64 n = offset >= 0 ? MIN (rows, columns - offset) : MIN (rows + offset, columns);

  return MAX (n, 0);
}

/* In row-major order, neighbours on a diagonal are columns + 1 elements apart. */
LoomValue
loom_op_diagonal_of (LoomProgram *p, LoomValue v, gint64 offset)
{
  LoomTensorDesc x = loom_value_info (p, v)->desc;
  gint64 rows = x.dim[x.rank - 2], columns = x.dim[x.rank - 1];
  gint64 n = loom_op_diagonal_size (rows, columns, offset), start = offset >= 0 ? offset : -offset * columns;

  x.rank--;
  x.dim[x.rank - 1] = rows * columns;
  v = loom_reshape (p, v, x.rank, x.dim);
  return loom_op_slice_axis (p, v, x.rank - 1, n > 0 ? start : 0, n, columns + 1);
}

void
loom_op_output_reshaped (LoomLower *ctx, guint i, LoomValue v)
{
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, i, dims);

  loom_lower_output (ctx, i, loom_reshape (loom_lower_program (ctx), v, rank, dims));
}

const LoomPortSpec loom_op_port_parts[] = {
  { "0", "The first part." },
  { "1", "The second part." },
  { NULL },
};

gboolean
loom_op_split_axis (LoomInfer *ctx, int *axis)
{
  return loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                       "A scalar cannot be split.")
         && loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), loom_infer_input (ctx, 0)->shape.rank, axis);
}

gboolean
loom_op_count_outputs (LoomInfer *ctx, int axis, LoomDim size, gint64 *n)
{
  const LoomShape alone = { .rank = 1, .dim = { size } };
  g_autofree char *text = loom_shape_to_string (&alone);

  if (!loom_dim_is_known (size))
    loom_infer_fault (
        ctx, LOOM_ERROR_SHAPE, "parts",
        "Dimension %d has the size %s, which does not determine the number of outputs. Set parts to their number.",
        axis, text);
  else if (size.coef < 1 || size.coef > LOOM_OP_MAX_OUTPUTS)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dim", "Dimension %d would make %s outputs, but there can be 1 to %d.",
                      axis, text, LOOM_OP_MAX_OUTPUTS);
  else
    {
      *n = size.coef;
      loom_infer_set_outputs (ctx, loom_op_numbered_ports ((guint)*n));
      return TRUE;
    }
  return FALSE;
}

void
loom_op_lower_split (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), loom_op_desc (ctx, x).rank);
  gint64 start = 0;

  for (guint i = 0; loom_infer_get_output (loom_lower_infer (ctx), i) != NULL; i++)
    {
      gint64 dims[LOOM_MAX_RANK];

      loom_op_output_dims (ctx, i, dims);
      loom_lower_output (ctx, i, loom_op_slice_axis (p, x, axis, start, dims[axis], 1));
      start += dims[axis];
    }
}

const LoomPortSpec loom_op_port_image[] = {
  { "input", "Images [batch, channels, height, width]; any number of dimensions may come before the channels." },
  { NULL },
};

void
loom_op_permute_pixels (LoomLower *ctx, const gint64 split[5], const int order[6])
{
  LoomProgram *p = loom_lower_program (ctx);
  gint64 dims[LOOM_MAX_RANK], parts[6] = { 1, split[0], split[1], split[2], split[3], split[4] };
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue v;

  for (int i = 0; i < rank - 3; i++)
    parts[0] *= dims[i];
  v = loom_permute (p, loom_reshape (p, loom_lower_input (ctx, 0), 6, parts), order);
  loom_lower_output (ctx, 0, loom_reshape (p, v, rank, dims));
}

/* ---- constant tensors -------------------------------------------------- */

const LoomParamSpec loom_op_param_filled[] = {
  LOOM_OP_FILLED_PARAMS,
  { NULL },
};

void
loom_op_infer_filled (LoomInfer *ctx)
{
  const LoomType *like = loom_infer_input (ctx, 0);
  LoomShape shape = like != NULL ? like->shape : loom_infer_shape (ctx, "shape");
  LoomDType dtype = like != NULL ? like->dtype : LOOM_F32;

  if (like != NULL && loom_infer_is_set (ctx, "shape"))
    {
      loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shape",
                                            "The shape is given and also wired as “like”; use only one of them."),
                          "shape", NULL, "Remove the attribute.");
      return;
    }
  loom_infer_output (ctx, 0, loom_infer_is_set (ctx, "dtype") ? loom_infer_dtype (ctx, "dtype") : dtype, &shape);
}

void
loom_op_lower_filled (LoomLower *ctx, double value)
{
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  loom_lower_output (ctx, 0, loom_fill (loom_lower_program (ctx), dtype, rank, dims, value));
}

/* ---- triangles ---------------------------------------------------------- */

const LoomParamSpec loom_op_param_diagonal[] = {
  { LOOM_PARAM ("diagonal", INT, "0"),
    .doc = "The diagonal: 0 is the main one, positive numbers are above it, negative ones below." },
  { NULL },
};

const LoomSample loom_op_samples_triangle[] = {
  { .inputs = { "f32:3,4" } },
  { .params = "diagonal=1", .inputs = { "f32:B,3,3" } },
  { .params = "diagonal=-2", .inputs = { "f32:4,3" } },
  { .params = "diagonal=9", .inputs = { "f32:2,2" } },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

void
loom_op_infer_triangle (LoomInfer *ctx)
{
  if (loom_op_rank (ctx, 0, "input", 2, LOOM_SHAPE_MAX_RANK, "a matrix, or a batch of them",
                    "Put a reshape before it."))
    loom_op_infer_same (ctx);
}

void
loom_op_lower_triangle (LoomLower *ctx, LoomScalarOp kept)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  LoomValue band = loom_op_band (p, d.dim[d.rank - 2], d.dim[d.rank - 1],
                                 loom_infer_int (loom_lower_infer (ctx), "diagonal"), kept);

  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, band, x, loom_op_const_like (ctx, x, 0)));
}
