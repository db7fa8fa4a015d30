/* Imports reductions. Axes are an attribute or, since opset 13 or 18, an input; without axes all are reduced. */
#include "engine/onnx/onnx-private.h"

typedef struct
{
  guint n;
  gint64 axis[LOOM_SHAPE_MAX_RANK];
  gboolean keep, none; /* none: nothing is reduced */
} Axes;

static Axes
axes_of (OnnxCtx *c, int rank)
{
  Axes a = { .keep = onnx_attr_int (c, "keepdims", 1) != 0 };
  gboolean present;

  a.n = onnx_ints (c, "axes", 1, a.axis, LOOM_SHAPE_MAX_RANK, &present);
  a.none = a.n == 0 && onnx_attr_int (c, "noop_with_empty_axes", 0) != 0;
  for (guint i = 0; i < a.n; i++)
    a.axis[i] = onnx_axis (c, a.axis[i], rank);
  return a;
}

static const OnnxWire *
reduce (OnnxCtx *c, const char *op, const OnnxWire *x, const Axes *a)
{
  return a->none ? x : onnx_reduce (c, op, x, a->n, a->axis, a->keep);
}

/* max, min and prod reduce one dimension at a time, as in PyTorch; the last one first, so that the others keep their
 * numbers. */
static const OnnxWire *
one_by_one (OnnxCtx *c, const char *op, const OnnxWire *x, const Axes *a)
{
  int rank = x->type.shape.rank;

  if (a->none)
    return x;
  for (int i = rank - 1; i >= 0; i--)
    {
      gboolean wanted = a->n == 0;
      for (guint k = 0; k < a->n; k++)
        wanted = wanted || a->axis[k] == i;
      if (wanted)
        x = onnx_emit (c, op, ONNX_IN (x), "dim", onnx_text (c, "%d", i), "keepdim", a->keep ? "true" : "false", NULL);
    }
  return x;
}

/* A result in the type of x; only sums and products can overflow it. */
static void
set_output (OnnxCtx *c, const OnnxWire *y, const OnnxWire *x)
{
  const gboolean grows = g_str_equal (c->map->op, "sum") || g_str_equal (c->map->op, "prod");

  y = onnx_cast (c, y, x->type.dtype);
  onnx_out (c, 0, grows ? onnx_wrap (c, y, onnx_elem_type (c, 0)) : y);
}

static void
map_reduce (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  set_output (c, reduce (c, c->map->op, x, &a), x);
}

static void
map_one_by_one (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  set_output (c, one_by_one (c, c->map->op, x, &a), x);
}

/* |x| + … */
static void
map_l1 (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  set_output (c, reduce (c, "sum", onnx_unary (c, "abs", x), &a), x);
}

static const OnnxWire *
sum_of_squares (OnnxCtx *c, const OnnxWire *x, const Axes *a)
{
  return reduce (c, "sum", onnx_binary (c, "mul", x, x), a);
}

static void
map_l2 (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  onnx_out (c, 0, onnx_cast (c, onnx_unary (c, "sqrt", sum_of_squares (c, x, &a)), x->type.dtype));
}

static void
map_sum_square (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  set_output (c, sum_of_squares (c, x, &a), x);
}

static void
map_log_sum (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  onnx_out (c, 0, onnx_unary (c, "log", reduce (c, "sum", x, &a)));
}

static void
map_log_sum_exp (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  Axes a = axes_of (c, x->type.shape.rank);

  onnx_out (c, 0, reduce (c, "logsumexp", x, &a));
}

/* The last of several equal elements is the first from the other end. */
static void
map_arg (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (x->type.shape.rank, 1));
  gboolean last = onnx_attr_int (c, "select_last_index", 0) != 0;
  const char *keep = onnx_attr_int (c, "keepdims", 1) ? "true" : "false";

  if (last)
    x = onnx_emit (c, "slice", ONNX_IN (x), "dim", onnx_text (c, "%d", axis), "step", "-1", NULL);
  y = onnx_emit (c, c->map->op, ONNX_IN (x), "dim", onnx_text (c, "%d", axis), "keepdim", keep, NULL);
  if (last)
    y = onnx_binary (c, "sub", onnx_constant (c, (double)onnx_dim (c, x, axis) - 1, LOOM_I64), y);
  onnx_out (c, 0, y);
}

const OnnxMap onnx_map_reduce[] = {
  { "ReduceSum", "sum", map_reduce },
  { "ReduceMean", "mean", map_reduce },
  { "ReduceMax", "max", map_one_by_one },
  { "ReduceMin", "min", map_one_by_one },
  { "ReduceProd", "prod", map_one_by_one },
  { "ReduceL1", "sum", map_l1 },
  { "ReduceL2", "sum", map_l2 },
  { "ReduceSumSquare", "sum", map_sum_square },
  { "ReduceLogSum", "sum", map_log_sum },
  { "ReduceLogSumExp", "logsumexp", map_log_sum_exp },
  { "ArgMax", "argmax", map_arg },
  { "ArgMin", "argmin", map_arg },
  { NULL },
};
