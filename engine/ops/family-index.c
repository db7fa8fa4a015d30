/* Shares the rules of operators that gather and scatter, and the indexing of rows along any axis.
 *
 * The primitives need rank 1 or more and an index of the rank of the tensor. Forms that PyTorch also accepts
 * (scalars, lists of rows, indices that broadcast) are converted here. */
#include "engine/ops/op-private.h"

const LoomParamSpec loom_op_param_index_dim[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "0", .doc = "The dimension that the index refers to." },
  { NULL },
};

const LoomPortSpec loom_op_port_ordered[] = {
  { "out", "The sorted elements." },
  { "indices", "The index of each of them along dim in the input, i64.", LOOM_PORT_OPTIONAL },
  { NULL },
};

gboolean
loom_op_needs_int (LoomInfer *ctx, guint i, const char *port)
{
  LoomDType dtype = loom_infer_input (ctx, i)->dtype;

  if (dtype == LOOM_I64 || dtype == LOOM_I32)
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_DTYPE, port,
                    "An index has type i64 or i32, but got %s. Put a cast before it, or wire the output of an operator "
                    "that returns indices (argmax, sort).",
                    loom_dtype_name (dtype));
  return FALSE;
}

gboolean
loom_op_same_dtype (LoomInfer *ctx, guint i, guint k, const char *port)
{
  const LoomType *a = loom_infer_input (ctx, i), *b = loom_infer_input (ctx, k);

  if (a->dtype == b->dtype)
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_DTYPE, port,
                    "Values written to a tensor of %s must have its type, but got %s. Put a cast before it.",
                    loom_dtype_name (a->dtype), loom_dtype_name (b->dtype));
  return FALSE;
}

/* TRUE if a is known to be larger than b. */
static gboolean
is_longer (LoomDim a, LoomDim b)
{
  return loom_dim_is_known (a) && loom_dim_is_known (b) && a.coef > b.coef;
}

gboolean
loom_op_points_into (LoomInfer *ctx, guint i, const char *port, const LoomShape *whole, int axis)
{
  const LoomShape *index = &loom_infer_input (ctx, i)->shape;
  gboolean fits = MAX (index->rank, 1) == MAX (whole->rank, 1);
  g_autofree char *a = NULL, *b = NULL;

  for (int d = 0; fits && d < index->rank && d < whole->rank; d++)
    fits = d == axis || !is_longer (index->dim[d], whole->dim[d]);
  if (fits)
    return TRUE;
  a = loom_shape_to_string (index);
  b = loom_shape_to_string (whole);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                    "“%s” is %s and refers to %s along dimension %d. It needs the same number of dimensions, and may "
                    "be larger only along that one.",
                    port, a, b, axis);
  return FALSE;
}

LoomValue
loom_op_at_least_1d (LoomProgram *p, LoomValue v)
{
  const LoomTensorDesc *d = &loom_value_info (p, v)->desc;

  return d->rank > 0 ? v : loom_reshape (p, v, 1, (gint64[]){ 1 });
}

/* The leading part of v that has the shape of another value; a scalar is repeated. */
static LoomValue
part_like (LoomProgram *p, LoomValue v, LoomValue like)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc, to = loom_value_info (p, like)->desc;
  gint64 start[LOOM_MAX_RANK] = { 0 };

  if (d.rank == 0)
    return loom_expand_to (p, v, to.rank, to.dim);
  return loom_slice (p, v, start, NULL, to.dim);
}

/* One table of rows for all indices of the axes before it: row r of outer index o is row o·n + r. The index first
 * selects from 0 … n-1, which refuses values out of range. */
LoomValue
loom_op_flat_rows (LoomProgram *p, LoomValue index, gint64 outer, gint64 n)
{
  LoomTensorDesc d = loom_value_info (p, index)->desc;
  LoomValue in[2] = { loom_op_iota_along (p, LOOM_I64, 1, 0, n, 0, 1), index }, picked, first;
  gint64 dims[2] = { 1, loom_desc_count (&d) };

  if (outer == 1)
    return loom_reshape (p, index, 1, dims + 1);
  picked = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL);
  first = loom_op_iota_along (p, LOOM_I64, 2, 0, outer, 0, (double)n);
  dims[0] = outer * dims[1];
  return loom_reshape (
      p, loom_binary (p, LOOM_SCALAR_ADD, first, loom_reshape (p, picked, 2, (gint64[]){ 1, dims[1] })), 1, dims);
}

LoomValue
loom_op_pick_rows (LoomProgram *p, LoomValue x, LoomValue index, int axis)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc, i = loom_value_info (p, index)->desc;
  gint64 outer = 1, inner = 1, dims[LOOM_MAX_RANK];
  LoomValue in[2];
  int rank = 0;

  for (int k = 0; k < axis; k++)
    outer *= dims[rank++] = d.dim[k];
  for (int k = 0; k < i.rank; k++)
    dims[rank++] = i.dim[k];
  for (int k = axis + 1; k < d.rank; k++)
    inner *= dims[rank++] = d.dim[k];
  in[0] = loom_reshape (p, x, 2, (gint64[]){ outer * d.dim[axis], inner });
  in[1] = loom_op_flat_rows (p, index, outer, d.dim[axis]);
  return loom_reshape (p, loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL), rank, dims);
}

/* ---- running along an axis ---------------------------------------------- */

/* Bool and short integers are accumulated in i64, as in PyTorch. */
const LoomParamSpec loom_op_param_running[] = {
  { LOOM_OP_DIM ("dim"), .fresh = "-1", .doc = "The dimension to accumulate along." },
  { NULL },
};

const LoomSample loom_op_samples_running[] = {
  { .params = "dim=1", .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:7,3" }, .range = "distinct" },
  { .params = "dim=-2", .inputs = { "f32:2,4,3" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:1" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:0" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "i64:B,5" } },
  { NULL },
};

void
loom_op_infer_running (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    loom_infer_output (ctx, 0, loom_dtype_is_float (x->dtype) ? x->dtype : LOOM_I64, &x->shape);
}

/* v shifted by `by` along the axis; the first elements become `value`. */
static LoomValue
shifted (LoomProgram *p, LoomValue v, int axis, gint64 by, double value)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { 0 }, step[LOOM_MAX_RANK], to[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    {
      step[i] = 1;
      to[i] = d.dim[i];
    }
  to[axis] = d.dim[axis] - by;
  v = loom_slice (p, v, start, step, to);
  start[axis] = by;
  to[axis] = d.dim[axis];
  return loom_pad (p, v, start, step, to, value);
}

/* After the step of distance 1, 2, 4 … an element holds the product of the 2, 4, 8 … elements that end with it.
 * Zeros need no special case, because neither the value nor the gradient divides. */
LoomValue
loom_op_running_product (LoomProgram *p, LoomValue x, int axis)
{
  gint64 n = loom_value_info (p, x)->desc.dim[axis];

  for (gint64 by = 1; by < n; by *= 2)
    x = loom_binary (p, LOOM_SCALAR_MUL, x, shifted (p, x, axis, by, 1));
  return x;
}

/* The position of the latest extreme so far, found by the same doubling. NaN counts as the extreme from its position
 * on. */
static LoomValue
running_extreme (LoomProgram *p, LoomValue x, int axis, gboolean largest)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  LoomValue best = loom_detach (p, x);
  LoomValue indices
      = loom_expand_to (p, loom_op_iota_along (p, LOOM_I64, d.rank, axis, d.dim[axis], 0, 1), d.rank, d.dim);

  for (gint64 by = 1; by < d.dim[axis]; by *= 2)
    {
      LoomValue other = shifted (p, best, axis, by, 0), place = shifted (p, indices, axis, by, -1);
      LoomValue mine = loom_binary (p, largest ? LOOM_SCALAR_GE : LOOM_SCALAR_LE, best, other);

      if (loom_dtype_is_float (d.dtype))
        {
          mine = loom_binary (p, LOOM_SCALAR_AND, mine, loom_binary (p, LOOM_SCALAR_EQ, other, other));
          mine = loom_binary (p, LOOM_SCALAR_OR, mine, loom_binary (p, LOOM_SCALAR_NE, best, best));
        }
      mine = loom_binary (p, LOOM_SCALAR_OR, mine, loom_binary (p, LOOM_SCALAR_LT, place, loom_const (p, LOOM_I64, 0)));
      best = loom_ternary (p, LOOM_SCALAR_SELECT, mine, best, other);
      indices = loom_ternary (p, LOOM_SCALAR_SELECT, mine, indices, place);
    }
  return indices;
}

/* Outputs 0 and 1: the cumulative extreme and its position. */
void
loom_op_lower_running_extreme (LoomLower *ctx, gboolean largest)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), row = loom_op_at_least_1d (p, x), indices;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), MAX (d.rank, 1));

  indices = running_extreme (p, row, axis, largest);
  loom_lower_output (ctx, 0, loom_reshape (p, loom_gather (p, row, indices, axis), d.rank, d.dim));
  loom_lower_output (ctx, 1, loom_reshape (p, indices, d.rank, d.dim));
}

void
loom_op_infer_running_extreme (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    return;
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
  loom_infer_output (ctx, 1, LOOM_I64, &x->shape);
}

/* ---- positions of true elements ------------------------------------------ */

LoomValue
loom_op_count_true (LoomProgram *p, LoomValue x)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  LoomValue zero = loom_const (p, d.dtype, 0);

  return loom_sum_all (p, loom_cast (p, loom_binary (p, LOOM_SCALAR_NE, x, zero), LOOM_I64));
}

/* Each true element writes its index to the position given by the cumulative count; the others write past the end. */
LoomValue
loom_op_true_places (LoomProgram *p, LoomValue x, gint64 n)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  gint64 m = loom_desc_count (&d), zero = 0;
  LoomValue holds, order;

  if (n == 0 || m == 0)
    return loom_fill (p, LOOM_I64, 1, &zero, 0);
  x = loom_reshape (p, x, 1, &m);
  holds = loom_binary (p, LOOM_SCALAR_NE, x, loom_const (p, d.dtype, 0));
  order = loom_cumsum (p, loom_cast (p, holds, LOOM_I64), 0, TRUE, FALSE);
  order = loom_ternary (p, LOOM_SCALAR_SELECT, holds, order, loom_const (p, LOOM_I64, (double)n));
  order = loom_scatter (p, loom_fill (p, LOOM_I64, 1, (gint64[]){ n + 1 }, 0), order,
                        loom_op_iota_along (p, LOOM_I64, 1, 0, m, 0, 1), 0, LOOM_SCATTER_REPLACE);
  return loom_slice (p, order, &zero, NULL, &n);
}

/* ---- scatter and sort ---------------------------------------------------- */

gboolean
loom_op_with_mask (LoomInfer *ctx, LoomShape *shape)
{
  const LoomType *x = loom_infer_input (ctx, 0), *mask = loom_infer_input (ctx, 1);

  if (mask->dtype != LOOM_BOOL)
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "mask",
                        "A mask is a bool, but got %s. Wire a comparison, such as eq or gt.",
                        loom_dtype_name (mask->dtype));
      return FALSE;
    }
  if (!loom_shape_broadcast (&x->shape, &mask->shape, shape))
    {
      g_autofree char *a = loom_shape_to_string (&x->shape), *b = loom_shape_to_string (&mask->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "mask",
                        "The mask is %s and the input %s. Counted from the right, sizes must be equal or 1.", b, a);
      return FALSE;
    }
  return TRUE;
}

/* Checks that the source has an element for each one of the index; FALSE with a fault. */
static gboolean
covers (LoomInfer *ctx, guint i, const char *port, const LoomShape *index)
{
  const LoomShape *shape = &loom_infer_input (ctx, i)->shape;
  gboolean fits = shape->rank == index->rank;
  g_autofree char *a = NULL, *b = NULL;

  for (int d = 0; fits && d < index->rank; d++)
    fits = !is_longer (index->dim[d], shape->dim[d]);
  if (fits)
    return TRUE;
  a = loom_shape_to_string (shape);
  b = loom_shape_to_string (index);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port,
                    "“%s” is %s, but the index is %s; it needs an element for each one of the index.", port, a, b);
  return FALSE;
}

/* Scatters src, or its leading part, into input 0 along "dim" by the index of input 1. */
void
loom_op_infer_scatter (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const LoomShape *index = &loom_infer_input (ctx, 1)->shape;
  int axis;

  if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis)
      || !loom_op_needs_int (ctx, 1, "index") || !loom_op_points_into (ctx, 1, "index", &x->shape, axis))
    return;
  if (loom_infer_input (ctx, 2) != NULL && (!loom_op_same_dtype (ctx, 0, 2, "src") || !covers (ctx, 2, "src", index)))
    return;
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

void
loom_op_lower_scatter (LoomLower *ctx, LoomValue src, LoomScatterMode mode)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), index = loom_op_at_least_1d (p, loom_lower_input (ctx, 1)), y;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), MAX (d.rank, 1));

  /* Types shorter than i32 are combined in i32: a sum of bools is a number before it becomes bool. */
  if (mode != LOOM_SCATTER_REPLACE && (d.dtype == LOOM_BOOL || d.dtype == LOOM_U8))
    {
      x = loom_cast (p, x, LOOM_I32);
      src = loom_cast (p, src, LOOM_I32);
    }
  y = loom_scatter (p, loom_op_at_least_1d (p, x), index, part_like (p, src, index), axis, mode);
  loom_lower_output (ctx, 0, loom_reshape (p, loom_cast (p, y, d.dtype), d.rank, d.dim));
}

/* Input 0 sorted along "dim"; a scalar has rank 1. */
LoomValue
loom_op_sorted (LoomLower *ctx, LoomValue *indices)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_at_least_1d (p, loom_lower_input (ctx, 0));
  int axis = loom_op_axis_of (loom_infer_int (infer, "dim"), loom_op_desc (ctx, x).rank);

  return loom_sort (p, x, axis, loom_infer_bool (infer, "descending"), indices);
}

/* ---- coordinates ---------------------------------------------------------- */

gboolean
loom_op_infer_coordinates (LoomInfer *ctx, int batch, int *depth)
{
  const LoomShape *x = &loom_infer_input (ctx, 0)->shape, *index = &loom_infer_input (ctx, 1)->shape;
  g_autofree char *a = loom_shape_to_string (x), *b = loom_shape_to_string (index);

  if (!loom_op_needs_int (ctx, 1, "indices"))
    return FALSE;
  if (index->rank < 1 || !loom_dim_is_known (index->dim[index->rank - 1]) || batch >= MIN (x->rank, index->rank)
      || index->dim[index->rank - 1].coef > x->rank - batch)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "indices",
                        "The last dimension of the indices holds the coordinates of one element or slice, at most one "
                        "for each dimension of the input; the indices are %s for an input %s.",
                        b, a);
      return FALSE;
    }
  for (int k = 0; k < batch; k++)
    if (!loom_dim_compatible (x->dim[k], index->dim[k]))
      {
        loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "indices",
                          "With batch_dims=\"%d\" the indices begin with the same sizes as the input, but they are %s "
                          "for an input %s.",
                          batch, b, a);
        return FALSE;
      }
  *depth = (int)index->dim[index->rank - 1].coef;
  return TRUE;
}

/* table is [rows, elements of a slice]. Each coordinate is looked up in a list of its offsets in that table, which
 * refuses values out of range; negative ones are converted before. */
LoomValue
loom_op_coordinates (LoomProgram *p, LoomValue x, LoomValue index, int batch, gint64 table[2])
{
  LoomTensorDesc d = loom_value_info (p, x)->desc, i = loom_value_info (p, index)->desc;
  gint64 depth = i.dim[i.rank - 1], inner = 1, start[LOOM_MAX_RANK] = { 0 }, to[LOOM_MAX_RANK];
  gint64 groups = 1, rows = loom_desc_count (&i) / MAX (depth, 1);
  LoomValue place = 0;

  for (int k = 0; k < batch; k++)
    groups *= d.dim[k];
  for (int k = 0; depth == 0 && k < i.rank - 1; k++)
    rows = k == 0 ? i.dim[0] : rows * i.dim[k];
  if (depth == 0 && i.rank == 1)
    rows = 1;
  table[0] = table[1] = 1;
  for (int k = 0; k < d.rank; k++)
    table[k < batch + depth ? 0 : 1] *= d.dim[k];
  for (int k = 0; k < i.rank; k++)
    to[k] = i.dim[k];
  to[i.rank - 1] = 1;
  for (int k = (int)depth - 1; k >= 0; k--)
    {
      gint64 n = d.dim[batch + k];
      LoomValue at, in[2] = { loom_op_iota_along (p, LOOM_I64, 1, 0, n, 0, (double)inner), 0 };

      start[i.rank - 1] = k;
      at = loom_reshape (p, loom_slice (p, index, start, NULL, to), 1, &rows);
      at = loom_cast (p, at, LOOM_I64);
      in[1] = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_LT, at, loom_const (p, LOOM_I64, 0)),
                            loom_binary (p, LOOM_SCALAR_ADD, at, loom_const (p, LOOM_I64, (double)n)), at);
      at = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL);
      place = place == 0 ? at : loom_binary (p, LOOM_SCALAR_ADD, place, at);
      inner *= n;
    }
  if (place == 0)
    place = loom_fill (p, LOOM_I64, 1, &rows, 0);
  if (groups > 1)
    {
      gint64 grid[2] = { groups, rows / groups };

      place = loom_binary (p, LOOM_SCALAR_ADD, loom_reshape (p, place, 2, grid),
                           loom_op_iota_along (p, LOOM_I64, 2, 0, groups, 0, (double)inner));
      place = loom_reshape (p, place, 1, &rows);
    }
  return place;
}

/* ---- sorting ------------------------------------------------------------ */

const LoomParamSpec loom_op_param_sorted[] = {
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension to sort along; -1 is the last." },
  { LOOM_PARAM ("descending", BOOL, "false"), .doc = "Whether the largest element comes first." },
  { LOOM_PARAM ("stable", BOOL, "false"),
    .doc = "Whether equal elements keep their order. Sorting is always stable, also if this is false.",
    .advanced = TRUE },
  { NULL },
};

const LoomSample loom_op_samples_sorted[] = {
  { .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "dim=0 descending=true", .inputs = { "f32:4,3" }, .range = "distinct" },
  { .params = "dim=1 stable=true", .inputs = { "f32:2,6,3" }, .range = "distinct" },
  { .inputs = { "f32:1" }, .range = "distinct" },
  { .inputs = { "f32:0" }, .range = "distinct" },
  { .inputs = { "f32:" }, .range = "distinct" },
  { .inputs = { "i64:B,5" } },
  { NULL },
};
