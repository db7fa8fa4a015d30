/* Computes medians and quantiles by sorting; see family-quantile.h.
 *
 * NaN is sorted last, so the number of other elements is the position of the first NaN. The elements at a position
 * are gathered, so the gradient goes to the element that was selected. */
#include "engine/ops/family-quantile.h"

#include <math.h>

static const char *const interpolations[] = { "linear", "lower", "higher", "midpoint", "nearest", NULL };

const LoomParamSpec loom_op_param_quantile[] = {
  { LOOM_PARAM_FRESH ("q", FLOATS, "0.5"), LOOM_RANGE (0, 1),
    .doc = "The quantile, from 0 to 1: 0.5 is the median. With several (“0.25,0.75”) the first dimension of the result "
           "has one row for each." },
  { LOOM_OP_DIM ("dim"), .def = "", .doc = "The dimension to reduce; if not set, all of them." },
  { LOOM_PARAM ("keepdim", BOOL, "false"), .doc = "Whether the result keeps the reduced dimension with size 1." },
  { LOOM_PARAM ("interpolation", ENUM, "linear"), .choices = interpolations,
    .doc = "How a quantile between two elements is computed: linear interpolation, the lower, the higher or the "
           "nearest element, or their midpoint." },
  { NULL },
};

const LoomSample loom_op_samples_quantile[] = {
  { .params = "q=0.3", .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "q=0.25,0.75 dim=1", .inputs = { "f32:B,5,2" }, .range = "distinct" },
  { .params = "q=0.5,1 dim=0 keepdim=true interpolation=midpoint", .inputs = { "f32:4,3" }, .range = "distinct" },
  { .params = "q=0.4 dim=-1 interpolation=lower", .inputs = { "f32:2,4" }, .range = "distinct" },
  { .params = "q=0.4 dim=-1 interpolation=higher", .inputs = { "f32:2,4" }, .range = "distinct" },
  { .params = "q=0.4 dim=-1 interpolation=nearest", .inputs = { "f32:2,4" }, .range = "distinct" },
  { .params = "q=0 dim=1", .inputs = { "f32:0,3" } },
  { .params = "q=0.7", .inputs = { "f32:" } },
  { NULL },
};

double
loom_op_sorted_flops (const LoomInfer *ctx)
{
  double n = loom_op_input_count (ctx, 0);

  return n > 1 ? n * log2 (n) : n;
}

/* The number of elements along the axis that are not NaN, with size 1 there; i64. */
static LoomValue
count_numbers (LoomProgram *p, LoomValue x, int axis)
{
  LoomValue number = loom_binary (p, LOOM_SCALAR_EQ, x, x);

  return loom_reduce (p, LOOM_REDUCE_SUM, loom_cast (p, number, LOOM_I64), 1u << axis, TRUE);
}

/* ---- the median --------------------------------------------------------- */

/* The position of the median after sorting: the lower of two middle elements, or the first NaN. */
static LoomValue
median_place (LoomProgram *p, LoomValue x, int axis, gboolean skip_nan)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  gint64 n = d.dim[axis];
  LoomValue middle, count;

  d.dim[axis] = 1;
  middle = loom_fill (p, LOOM_I64, d.rank, d.dim, (double)((n - 1) / 2));
  if (!loom_dtype_is_float (d.dtype))
    return middle;
  count = count_numbers (p, x, axis);
  if (!skip_nan)
    return loom_ternary (p, LOOM_SCALAR_SELECT,
                         loom_binary (p, LOOM_SCALAR_EQ, count, loom_const (p, LOOM_I64, (double)n)), middle, count);
  middle = loom_binary (p, LOOM_SCALAR_SUB, count, loom_const (p, LOOM_I64, 1));
  middle = loom_binary (p, LOOM_SCALAR_MAX, middle, loom_const (p, LOOM_I64, 0));
  return loom_binary (p, LOOM_SCALAR_DIV_FLOOR, middle, loom_const (p, LOOM_I64, 2));
}

/* Without a dimension all elements equal to the median share the gradient, as in a maximum: all other elements are
 * set to minus infinity and the largest is taken. */
static LoomValue
shared_median (LoomLower *ctx, LoomValue x, LoomValue median)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue equal = loom_binary (p, LOOM_SCALAR_EQ, x, median);

  equal = loom_binary (p, LOOM_SCALAR_OR, equal,
                       loom_binary (p, LOOM_SCALAR_AND, loom_unary (p, LOOM_SCALAR_ISNAN, x),
                                    loom_unary (p, LOOM_SCALAR_ISNAN, median)));
  return loom_reduce (p, LOOM_REDUCE_MAX,
                      loom_ternary (p, LOOM_SCALAR_SELECT, equal, x, loom_op_const_like (ctx, x, -INFINITY)), 1, FALSE);
}

void
loom_op_lower_median (LoomLower *ctx, gboolean skip_nan)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype);
  gboolean along = loom_infer_is_set (infer, "dim"), real = loom_dtype_is_float (dtype);
  LoomValue x = loom_op_at_least_1d (p, loom_lower_input (ctx, 0)), sorted, indices, place, y;
  LoomTensorDesc d;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims), axis = 0;

  x = loom_cast (p, x, real ? dtype : LOOM_I64);
  d = loom_op_desc (ctx, x);
  if (along)
    axis = loom_op_axis_of (loom_infer_int (infer, "dim"), d.rank);
  else
    x = loom_reshape (p, x, 1, (gint64[]){ loom_desc_count (&d) });
  sorted = loom_sort (p, along ? x : loom_detach (p, x), axis, FALSE, &indices);
  place = median_place (p, x, axis, skip_nan);
  y = loom_gather (p, sorted, place, axis);
  if (!along && real)
    y = shared_median (ctx, x, y);
  loom_lower_output (ctx, 0, loom_reshape (p, loom_cast (p, y, dtype), rank, dims));
  if (along)
    loom_lower_output (ctx, 1, loom_reshape (p, loom_gather (p, indices, place, axis), rank, dims));
}

/* ---- quantiles ---------------------------------------------------------- */

/* Reads q and checks the axes; FALSE after a fault. */
static gboolean
read_quantile (LoomInfer *ctx, double *q, guint *n, guint32 *axes)
{
  int rank = loom_infer_input (ctx, 0)->shape.rank, axis;

  *n = loom_infer_floats (ctx, "q", q, LOOM_OP_MAX_OUTPUTS);
  *axes = (1u << rank) - 1;
  if (!loom_op_needs_float (ctx, 0, "input", "interpolates its elements"))
    return FALSE;
  if (loom_infer_is_set (ctx, "dim"))
    {
      if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), rank, &axis))
        return FALSE;
      *axes &= 1u << axis;
    }
  for (guint i = 0; i < *n; i++)
    if (q[i] < 0 || q[i] > 1)
      {
        loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "q", "q must be from 0 to 1, but has %g.", q[i]);
        return FALSE;
      }
  return loom_op_has_elements (ctx, *axes);
}

void
loom_op_infer_quantile (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  double q[LOOM_OP_MAX_OUTPUTS];
  LoomShape shape;
  guint32 axes;
  guint n;

  if (!read_quantile (ctx, q, &n, &axes))
    return;
  shape = loom_op_reduced_shape (&x->shape, axes, loom_infer_bool (ctx, "keepdim"));
  if (n > 1 && shape.rank == LOOM_SHAPE_MAX_RANK)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "q",
                        "With several q the result would have nine dimensions; at most eight are supported.");
      return;
    }
  if (n > 1)
    {
      memmove (shape.dim + 1, shape.dim, sizeof shape.dim[0] * (gsize)shape.rank);
      shape.dim[0] = loom_dim (n);
      shape.rank++;
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* Interpolates from the nearer of a and b, so that both ends are exact. */
static LoomValue
mixed (LoomProgram *p, LoomValue a, LoomValue b, LoomValue weight)
{
  LoomDType dtype = loom_value_info (p, a)->desc.dtype;
  LoomValue way = loom_binary (p, LOOM_SCALAR_SUB, b, a);
  LoomValue rest = loom_binary (p, LOOM_SCALAR_SUB, loom_const (p, dtype, 1), weight);

  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_LT, weight, loom_const (p, dtype, 0.5)),
                       loom_binary (p, LOOM_SCALAR_ADD, a, loom_binary (p, LOOM_SCALAR_MUL, weight, way)),
                       loom_binary (p, LOOM_SCALAR_SUB, b, loom_binary (p, LOOM_SCALAR_MUL, rest, way)));
}

/* The element at `place`, a position that may have a fraction. */
static LoomValue
at_place (LoomProgram *p, LoomValue sorted, LoomValue place, int axis, const char *interpolation)
{
  LoomDType dtype = loom_value_info (p, sorted)->desc.dtype;
  LoomValue below, a, b, weight;

  if (g_str_equal (interpolation, "lower") || g_str_equal (interpolation, "higher")
      || g_str_equal (interpolation, "nearest"))
    {
      LoomScalarOp round = *interpolation == 'l'   ? LOOM_SCALAR_FLOOR
                           : *interpolation == 'h' ? LOOM_SCALAR_CEIL
                                                   : LOOM_SCALAR_ROUND;

      return loom_gather (p, sorted, loom_cast (p, loom_unary (p, round, place), LOOM_I64), axis);
    }
  below = loom_unary (p, LOOM_SCALAR_FLOOR, place);
  a = loom_gather (p, sorted, loom_cast (p, below, LOOM_I64), axis);
  b = loom_gather (p, sorted, loom_cast (p, loom_unary (p, LOOM_SCALAR_CEIL, place), LOOM_I64), axis);
  weight = g_str_equal (interpolation, "midpoint") ? loom_const (p, dtype, 0.5)
                                                   : loom_binary (p, LOOM_SCALAR_SUB, place, below);
  return mixed (p, a, b, weight);
}

void
loom_op_lower_quantile (LoomLower *ctx, gboolean skip_nan)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  const char *interpolation = loom_infer_string (infer, "interpolation");
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_program_get_float (p);
  LoomValue x = loom_cast (p, loom_op_at_least_1d (p, loom_lower_input (ctx, 0)), dtype);
  LoomValue sorted, last, count, full, y[LOOM_OP_MAX_OUTPUTS], all;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  double q[LOOM_OP_MAX_OUTPUTS];
  guint n = loom_infer_floats (infer, "q", q, LOOM_OP_MAX_OUTPUTS);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims), axis = 0;

  if (loom_infer_is_set (infer, "dim"))
    axis = loom_op_axis_of (loom_infer_int (infer, "dim"), d.rank);
  else
    x = loom_reshape (p, x, 1, (gint64[]){ loom_desc_count (&d) });
  d = loom_op_desc (ctx, x);
  sorted = loom_sort (p, x, axis, FALSE, NULL);
  count = loom_cast (p, count_numbers (p, x, axis), dtype);
  full = loom_binary (p, LOOM_SCALAR_EQ, count, loom_const (p, dtype, (double)d.dim[axis]));
  last = loom_binary (p, LOOM_SCALAR_SUB, count, loom_const (p, dtype, 1));
  last = loom_binary (p, LOOM_SCALAR_MAX, last, loom_const (p, dtype, 0));
  for (guint i = 0; i < n; i++)
    {
      LoomValue place = loom_binary (p, LOOM_SCALAR_MUL, last, loom_const (p, dtype, q[i]));
      LoomTensorDesc flat;

      /* All quantiles of a row that contains NaN are NaN: the last of its sorted elements. */
      if (!skip_nan)
        place = loom_ternary (p, LOOM_SCALAR_SELECT, full, place, loom_const (p, dtype, (double)(d.dim[axis] - 1)));
      y[i] = at_place (p, sorted, place, axis, interpolation);
      flat = loom_op_desc (ctx, y[i]);
      y[i] = loom_reshape (p, y[i], 1, (gint64[]){ loom_desc_count (&flat) });
    }
  all = n == 1 ? y[0] : loom_concat (p, n, y, 0);
  loom_lower_output (
      ctx, 0,
      loom_reshape (p, loom_cast (p, all, loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype)), rank, dims));
}
