/* Computes values that depend on no data, though on open sizes.
 *
 * Every sample gets the same rows of a mask, so one of them is a constant. Such a value is computed for two choices of
 * open sizes, and is a constant if its rows are equal in both. Rows that differ between samples, or between the two
 * choices (T − 1), may on the way only be moved, or be the coordinates by which equal rows are picked: then what holds
 * for two choices holds for all. */
#include "engine/onnx/onnx-trial.h"

#include <math.h>
#include <string.h>

#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-numbers.h"
#include "engine/ops/loom-table.h"

#define MAX_COUNT    (1 << 24) /* elements of a value; a larger one stays as it is */
#define MAX_DEPTH    200
#define MAX_OPERANDS 16

/* The values of wires for one choice of open sizes, in f64. One whose rows along all open sizes are equal has 1 in
 * their place, and is the tensor of the other trial if that is equal, so that most masks are computed and stored once.
 */
typedef struct _Trial Trial;
struct _Trial
{
  LoomBinding binding;
  GHashTable *values; /* OnnxWire → LoomTensor; NULL: it depends on data, or on samples in a way that is not followed */
  const Trial *other; /* of other sizes, complete; NULL: this one is the first */
};

typedef struct
{
  Trial *trial;
  const OnnxNode *node;
  guint n;
  const LoomTensor *in[MAX_OPERANDS]; /* NULL: not wired */
  LoomTensor *y;
} Step;

typedef struct
{
  const char *op;
  gboolean (*compute) (Step *s);
  double (*number) (double a, double b); /* of one operand or two, which are broadcast */
  gboolean moves;                        /* its operands may differ between samples */
} Row;

static const char *
text_of (const OnnxNode *node, const char *name)
{
  for (guint i = 0; i + 1 < node->attributes->len; i += 2)
    if (g_str_equal (node->attributes->pdata[i], name))
      return node->attributes->pdata[i + 1];
  return NULL;
}

static double
number_of (const OnnxNode *node, const char *name, double def)
{
  const char *text = text_of (node, name);

  return text != NULL ? g_ascii_strtod (text, NULL) : def;
}

/* Number i of a list, in which one number stands for all. */
static gboolean
list_item (const OnnxNode *node, const char *name, guint i, gint64 *value)
{
  g_auto (GStrv) items = g_strsplit (text_of (node, name) != NULL ? text_of (node, name) : "", ",", -1);
  guint n = g_strv_length (items);

  if (n == 0 || (n > 1 && i >= n) || !*items[0])
    return FALSE;
  *value = g_ascii_strtoll (items[n > 1 ? i : 0], NULL, 10);
  return TRUE;
}

static guint
list_length (const OnnxNode *node, const char *name)
{
  g_auto (GStrv) items = g_strsplit (text_of (node, name) != NULL ? text_of (node, name) : "", ",", -1);

  return g_strv_length (items);
}

static double *
numbers (const LoomTensor *t)
{
  return t->data;
}

static int
axis_of (const OnnxNode *node, const char *name, gint64 def, int rank)
{
  gint64 axis = (gint64)number_of (node, name, (double)def);

  return (int)(axis < 0 ? axis + rank : axis);
}

/* Element i of y is that of x at offset + the sum of y's indices times stride. */
static void
copy_strided (LoomTensor *y, const LoomTensor *x, gint64 offset, const gint64 *stride)
{
  gint64 index[LOOM_SHAPE_MAX_RANK] = { 0 }, at = offset;

  for (gint64 i = 0; i < y->count; i++)
    {
      numbers (y)[i] = numbers (x)[at];
      for (int d = y->rank - 1; d >= 0; d--)
        {
          at += stride[d];
          if (++index[d] < y->dim[d])
            break;
          at -= stride[d] * y->dim[d];
          index[d] = 0;
        }
    }
}

/* x as y has its shape; FALSE if it does not broadcast. */
static gboolean
broadcast (LoomTensor *y, const LoomTensor *x)
{
  gint64 own[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK] = { 0 };

  onnx_row_major (x, own);
  for (int d = 0; d < x->rank; d++)
    {
      int to = y->rank - x->rank + d;

      if (to < 0 || (x->dim[d] != 1 && x->dim[d] != y->dim[to]))
        return FALSE;
      stride[to] = x->dim[d] == 1 ? 0 : own[d];
    }
  copy_strided (y, x, 0, stride);
  return TRUE;
}

/* ---- operators ---------------------------------------------------------------------- */

/* A number of an attribute, which has as few decimals as its type needs. */
static double
as_type (double x, LoomDType dtype)
{
  return dtype == LOOM_F32 ? (double)(float)x : x;
}

static gboolean
s_constant (Step *s)
{
  const char *data = text_of (s->node, "data"), *value = text_of (s->node, "value");
  LoomTensor *y = s->y;

  if (data != NULL)
    return loom_table_decode (data, s->node->out[0].type.dtype, (gsize)y->count, y->data);
  g_auto (GStrv) items = g_strsplit (value != NULL ? value : "0", ",", -1);
  guint n = g_strv_length (items);
  if (n != 1 && n != (guint64)y->count)
    return FALSE;
  for (gint64 i = 0; i < y->count; i++)
    numbers (y)[i] = as_type (g_ascii_strtod (items[n == 1 ? 0 : i], NULL), s->node->out[0].type.dtype);
  return TRUE;
}

static gboolean
s_arange (Step *s)
{
  double start = number_of (s->node, "start", 0), step = number_of (s->node, "step", 1);

  for (gint64 i = 0; i < s->y->count; i++)
    numbers (s->y)[i] = start + (double)i * step;
  return TRUE;
}

static gboolean
s_same (Step *s)
{
  if (s->in[0]->count != s->y->count)
    return FALSE;
  memcpy (s->y->data, s->in[0]->data, s->y->bytes);
  return TRUE;
}

static gboolean
s_expand (Step *s)
{
  return broadcast (s->y, s->in[0]);
}

static gboolean
s_permute (Step *s)
{
  gint64 own[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK], from;

  onnx_row_major (s->in[0], own);
  for (int d = 0; d < s->y->rank; d++)
    {
      if (!list_item (s->node, "dims", (guint)d, &from))
        return FALSE;
      from = from < 0 ? from + s->in[0]->rank : from;
      if (from < 0 || from >= s->in[0]->rank || s->in[0]->dim[from] != s->y->dim[d])
        return FALSE;
      stride[d] = own[from];
    }
  copy_strided (s->y, s->in[0], 0, stride);
  return TRUE;
}

static gboolean
s_slice (Step *s)
{
  gint64 stride[LOOM_SHAPE_MAX_RANK], offset = 0;
  const LoomTensor *x = s->in[0];
  guint n = MAX (list_length (s->node, "dim"), 1);

  if (x->rank != s->y->rank)
    return FALSE;
  onnx_row_major (x, stride);
  for (guint i = 0; i < n; i++)
    {
      gint64 axis = 0, step = 1, start;

      list_item (s->node, "dim", i, &axis);
      list_item (s->node, "step", i, &step);
      axis = axis < 0 ? axis + x->rank : axis;
      if (axis < 0 || axis >= x->rank || step == 0)
        return FALSE;
      if (!list_item (s->node, "start", i, &start))
        start = step > 0 ? 0 : x->dim[axis] - 1;
      /* What is picked changes at a size that no trial may have. */
      else if (!loom_dim_is_known (s->node->in[0]->type.shape.dim[axis])
               && (start < 0 ? start + x->dim[axis] < 0 : step < 0))
        return FALSE;
      start = start < 0 ? MAX (start + x->dim[axis], 0) : MIN (start, x->dim[axis] - (step < 0));
      if (s->y->dim[axis] > 0
          && (start + (s->y->dim[axis] - 1) * step >= x->dim[axis] || start + (s->y->dim[axis] - 1) * step < 0))
        return FALSE;
      offset += start * stride[axis];
      stride[axis] *= step;
    }
  copy_strided (s->y, x, offset, stride);
  return TRUE;
}

static gboolean
s_concat (Step *s)
{
  int axis = axis_of (s->node, "dim", 0, s->y->rank);
  gint64 outer = 1, inner = 1, at = 0;

  if (axis < 0 || axis >= s->y->rank)
    return FALSE;
  for (int d = 0; d < s->y->rank; d++)
    {
      outer *= d < axis ? s->y->dim[d] : 1;
      inner *= d > axis ? s->y->dim[d] : 1;
    }
  for (guint i = 0; i < s->n; i++)
    {
      const LoomTensor *x = s->in[i];
      gint64 size = x->rank == s->y->rank ? x->dim[axis] * inner : -1;

      if (size < 0 || x->count != outer * size || at + size > s->y->dim[axis] * inner)
        return FALSE;
      for (gint64 o = 0; o < outer; o++)
        memcpy (numbers (s->y) + o * s->y->dim[axis] * inner + at, numbers (x) + o * size,
                (gsize)size * sizeof (double));
      at += size;
    }
  return at == s->y->dim[axis] * inner;
}

/* TRUE if the type has all of these numbers. A graph can also run in another type of float, so that values that one of
 * them rounds are not computed with. */
static gboolean
is_exact (const LoomTensor *x, LoomDType dtype)
{
  g_autoptr (LoomTensor) stored = NULL;
  gint64 n = 0;

  /* Most masks are numbers of one bit. */
  while (n < x->count && (numbers (x)[n] == 0 || numbers (x)[n] == 1))
    n++;
  if (n == x->count)
    return TRUE;
  stored = loom_tensor_convert (x, dtype, FALSE, NULL);

  for (gint64 i = 0; stored != NULL && i < x->count; i++)
    if (loom_tensor_get (stored, i) != numbers (x)[i])
      return FALSE;
  return stored != NULL;
}

static gboolean
s_cumsum (Step *s)
{
  int axis = axis_of (s->node, "dim", 0, s->y->rank);
  gint64 own[LOOM_SHAPE_MAX_RANK];

  if (axis < 0 || axis >= s->y->rank || text_of (s->node, "reverse") != NULL || text_of (s->node, "exclusive") != NULL)
    return FALSE;
  onnx_row_major (s->y, own);
  for (gint64 i = 0; i < s->y->count; i++)
    numbers (s->y)[i]
        = numbers (s->in[0])[i] + (i / own[axis] % s->y->dim[axis] > 0 ? numbers (s->y)[i - own[axis]] : 0);
  return is_exact (s->in[0], s->node->in[0]->type.dtype) && is_exact (s->y, s->node->out[0].type.dtype);
}

/* The first element of each row along a size that a symbol names must be that of all rows. */
static gboolean
differs (const LoomTensor *t, const LoomShape *shape, gint64 offset, gint64 every)
{
  gint64 own[LOOM_SHAPE_MAX_RANK];

  onnx_row_major (t, own);
  for (int d = 0; d < t->rank; d++)
    for (gint64 i = offset; !loom_dim_is_known (shape->dim[d]) && t->dim[d] > 1 && i < t->count; i += every)
      if (i / own[d] % t->dim[d] > 0 && numbers (t)[i] != numbers (t)[i - own[d]])
        return TRUE;
  return FALSE;
}

/* The first rows of a value: open sizes become 1. (transfer full) */
static LoomTensor *
first_rows (const LoomTensor *x, const LoomShape *shape)
{
  gint64 own[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK];
  LoomTensor *y;

  onnx_row_major (x, own);
  for (int d = 0; d < x->rank; d++)
    dims[d] = loom_dim_is_known (shape->dim[d]) ? x->dim[d] : 1;
  y = loom_tensor_new (LOOM_F64, x->rank, dims, NULL);
  if (y != NULL)
    copy_strided (y, x, 0, own);
  return y;
}

/* TRUE if elements offset, offset + every, … of the first rows depend on the open sizes: a position that is counted
 * from the end, such as T − 1. */
static gboolean
depends_on_sizes (const Trial *t, const OnnxWire *wire, gint64 offset, gint64 every)
{
  const LoomTensor *x = g_hash_table_lookup (t->values, wire);
  const LoomTensor *y = t->other != NULL ? g_hash_table_lookup (t->other->values, wire) : NULL;
  g_autoptr (LoomTensor) a = NULL, b = NULL;

  if (t->other == NULL || x == y)
    return FALSE;
  a = x != NULL ? first_rows (x, &wire->type.shape) : NULL;
  b = y != NULL ? first_rows (y, &wire->type.shape) : NULL;
  if (a == NULL || b == NULL || a->count != b->count)
    return TRUE;
  for (gint64 i = offset; i < a->count; i += every)
    if (numbers (a)[i] != numbers (b)[i])
      return TRUE;
  return FALSE;
}

/* Coordinates that differ between samples, or between sizes, pick from sizes that are open, and from equal rows. */
static gboolean
may_pick (const Step *s, gint64 k)
{
  const OnnxWire *from = s->node->in[0], *index = s->node->in[1];
  const gboolean rows_differ = differs (s->in[0], &from->type.shape, 0, 1);

  for (gint64 i = 0; i < k; i++)
    if ((rows_differ || loom_dim_is_known (from->type.shape.dim[i]))
        && (differs (s->in[1], &index->type.shape, i, k) || depends_on_sizes (s->trial, index, i, k)))
      return FALSE;
  return TRUE;
}

static gboolean
s_gather_nd (Step *s)
{
  const LoomTensor *x = s->in[0], *index = s->in[1];
  gint64 k = index->rank > 0 ? index->dim[index->rank - 1] : 0, own[LOOM_SHAPE_MAX_RANK], size;

  if (k < 1 || k > x->rank || text_of (s->node, "batch_dims") != NULL || !may_pick (s, k))
    return FALSE;
  onnx_row_major (x, own);
  size = own[k - 1];
  if (index->count / k * size != s->y->count)
    return FALSE;
  for (gint64 i = 0; i < index->count / k; i++)
    {
      gint64 at = 0;

      for (gint64 j = 0; j < k; j++)
        {
          double c = numbers (index)[i * k + j];

          c = c < 0 ? c + (double)x->dim[j] : c;
          if (!(c >= 0 && c < (double)x->dim[j]))
            return FALSE;
          at += (gint64)c * own[j];
        }
      memcpy (numbers (s->y) + i * size, numbers (x) + at, (gsize)size * sizeof (double));
    }
  return TRUE;
}

static gboolean
s_where (Step *s)
{
  g_autoptr (LoomTensor) c = loom_tensor_new (LOOM_F64, s->y->rank, s->y->dim, NULL);
  g_autoptr (LoomTensor) other = loom_tensor_new (LOOM_F64, s->y->rank, s->y->dim, NULL);

  if (c == NULL || other == NULL || s->n != 3 || s->in[1] == NULL || s->in[2] == NULL || !broadcast (c, s->in[0])
      || !broadcast (s->y, s->in[1]) || !broadcast (other, s->in[2]))
    return FALSE;
  for (gint64 i = 0; i < s->y->count; i++)
    if (numbers (c)[i] == 0)
      numbers (s->y)[i] = numbers (other)[i];
  return TRUE;
}

static gboolean
varies (const Trial *t, const OnnxWire *wire, const LoomTensor *x)
{
  return differs (x, &wire->type.shape, 0, 1) || depends_on_sizes (t, wire, 0, 1);
}

/* What varies may only be moved: different numbers may be the same bool. */
static gboolean
s_cast (Step *s)
{
  LoomDType dtype = s->node->out[0].type.dtype;
  gboolean changes = FALSE;

  for (gint64 i = 0; i < s->y->count; i++)
    {
      double v = numbers (s->in[0])[i];

      numbers (s->y)[i] = dtype == LOOM_BOOL ? v != 0 : loom_dtype_is_float (dtype) ? v : trunc (v);
      changes = changes || numbers (s->y)[i] != v;
    }
  return is_exact (s->in[0], s->node->in[0]->type.dtype) && is_exact (s->y, dtype)
         && (!changes || !varies (s->trial, s->node->in[0], s->in[0]));
}

/* The part of a matrix on one side of a diagonal. */
static gboolean
s_triangle (Step *s)
{
  const LoomShape *shape = &s->node->in[0]->type.shape;
  gboolean lower = g_str_equal (s->node->op->name, "tril");
  gint64 diagonal = (gint64)number_of (s->node, "diagonal", 0), n, m;

  if (s->y->rank < 2 || !loom_dim_is_known (shape->dim[shape->rank - 1])
      || !loom_dim_is_known (shape->dim[shape->rank - 2]))
    return FALSE;
  m = s->y->dim[s->y->rank - 2];
  n = s->y->dim[s->y->rank - 1];
  for (gint64 i = 0; i < s->y->count; i++)
    {
      gint64 row = i / n % m, column = i % n;

      numbers (s->y)[i] = (lower ? column <= row + diagonal : column >= row + diagonal) ? numbers (s->in[0])[i] : 0;
    }
  return TRUE;
}

static double
n_ne (double a, double b)
{
  return a != b;
}
static double
n_le (double a, double b)
{
  return a <= b;
}
static double
n_ge (double a, double b)
{
  return a >= b;
}

static const Row rows[] = {
  { "constant", s_constant },
  { "arange", s_arange },
  { "expand", s_expand, .moves = TRUE },
  { "reshape", s_same, .moves = TRUE },
  { "unsqueeze", s_same, .moves = TRUE },
  { "squeeze", s_same, .moves = TRUE },
  { "flatten", s_same, .moves = TRUE },
  { "unflatten", s_same, .moves = TRUE },
  { "permute", s_permute, .moves = TRUE },
  { "slice", s_slice, .moves = TRUE },
  { "concat", s_concat, .moves = TRUE },
  { "gather_nd", s_gather_nd, .moves = TRUE },
  { "cumsum", s_cumsum },
  { "where", s_where },
  { "cast", s_cast, .moves = TRUE },
  { "tril", s_triangle },
  { "triu", s_triangle },
  { "add", NULL, onnx_number_add },
  { "sub", NULL, onnx_number_sub },
  { "mul", NULL, onnx_number_mul },
  { "maximum", NULL, onnx_number_max },
  { "minimum", NULL, onnx_number_min },
  { "neg", NULL, onnx_number_neg },
  { "logical_not", NULL, onnx_number_not },
  { "logical_and", NULL, onnx_number_and },
  { "logical_or", NULL, onnx_number_or },
  { "eq", NULL, onnx_number_equal },
  { "ne", NULL, n_ne },
  { "lt", NULL, onnx_number_less },
  { "le", NULL, n_le },
  { "gt", NULL, onnx_number_greater },
  { "ge", NULL, n_ge },
};

static const Row *
row_of (const OnnxNode *node)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].op, node->op->name))
      return &rows[i];
  return NULL;
}

/* ---- trials -------------------------------------------------------------------------- */

/* A number as a second operand may be an attribute. */
static gboolean
compute_numbers (Step *s, const Row *row)
{
  g_autoptr (LoomTensor) b = loom_tensor_new (LOOM_F64, s->y->rank, s->y->dim, NULL);
  LoomDType dtype = s->node->out[0].type.dtype, of = s->node->in[0]->type.dtype;

  if (b == NULL || !broadcast (s->y, s->in[0]) || (s->n > 1 && s->in[1] != NULL && !broadcast (b, s->in[1])))
    return FALSE;
  for (gint64 i = 0; i < b->count && (s->n < 2 || s->in[1] == NULL); i++)
    numbers (b)[i] = as_type (number_of (s->node, "other", 0), of);
  if (!is_exact (s->y, of) || !is_exact (b, s->n > 1 && s->in[1] != NULL ? s->node->in[1]->type.dtype : of))
    return FALSE;
  for (gint64 i = 0; i < s->y->count; i++)
    {
      double v = row->number (numbers (s->y)[i], numbers (b)[i]);

      if ((dtype == LOOM_F64 || !loom_dtype_is_float (dtype)) && isfinite (v) && fabs (v) > (double)ONNX_MAX_WHOLE)
        return FALSE;
      numbers (s->y)[i] = v;
    }
  return is_exact (s->y, dtype);
}

static const LoomTensor *value_of (Trial *t, const OnnxWire *wire, guint depth);

/* The operands are broadcast to the result, so that rows that are equal in all of them are so in the result. */
static gboolean
broadcasts (const Row *row)
{
  return row->number != NULL || row->compute == s_where || row->compute == s_cast || row->compute == s_expand
         || row->compute == s_constant;
}

/* The sizes of a value; open ones are 1 if no operand has more rows there. FALSE: it is too large. */
static gboolean
find_sizes (const Step *s, const Row *row, const OnnxWire *wire, gint64 dims[LOOM_SHAPE_MAX_RANK])
{
  const LoomShape *shape = &wire->type.shape;
  gint64 count = 1;

  for (int d = 0; d < shape->rank; d++)
    {
      gboolean is_one = broadcasts (row) && !loom_dim_is_known (shape->dim[d]);

      for (guint i = 0; is_one && i < s->n; i++)
        {
          const int at = s->in[i] != NULL ? d - shape->rank + s->in[i]->rank : -1;

          is_one = at < 0 || s->in[i]->dim[at] == 1;
        }
      dims[d] = is_one ? 1 : loom_dim_value (shape->dim[d], &s->trial->binding);
      if (dims[d] < 1 || (count *= dims[d]) > MAX_COUNT)
        return FALSE;
    }
  return TRUE;
}

/* All rows of a value. (transfer full) */
static LoomTensor *
all_rows (const Trial *t, const OnnxWire *wire, const LoomTensor *x)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], count = 1;
  LoomTensor *y;

  for (int d = 0; d < x->rank; d++)
    {
      dims[d] = loom_dim_value (wire->type.shape.dim[d], &t->binding);
      if ((count *= dims[d]) > MAX_COUNT)
        return NULL;
    }
  y = loom_tensor_new (LOOM_F64, x->rank, dims, NULL);
  if (y != NULL)
    broadcast (y, x);
  return y;
}

/* The other trial's value if it was computed from the same operands, or else is equal; else NULL. */
static LoomTensor *
find_same (const Step *s, const OnnxWire *wire, const LoomTensor *y)
{
  const Trial *other = s->trial->other;
  LoomTensor *same = other != NULL ? g_hash_table_lookup (other->values, wire) : NULL;

  if (same == NULL)
    return NULL;
  if (y != NULL)
    return loom_tensor_equal_bits (same, y) ? same : NULL;
  for (guint i = 0; i < s->n; i++)
    if (s->node->in[i] != NULL && g_hash_table_lookup (other->values, s->node->in[i]) != s->in[i])
      return NULL;
  return same;
}

/* The first rows of a value that is no longer needed. */
static LoomTensor *
compact (LoomTensor *y, const LoomShape *shape)
{
  LoomTensor *first = NULL;

  for (int d = 0; d < y->rank; d++)
    if (!loom_dim_is_known (shape->dim[d]) && y->dim[d] > 1)
      {
        first = first_rows (y, shape);
        loom_tensor_unref (y);
        return first;
      }
  return y;
}

static LoomTensor *
compute_step (Step *s, const Row *row, const OnnxWire *wire, const gint64 *dims)
{
  g_autoptr (LoomTensor) y = NULL;
  LoomTensor *same;
  gboolean done;

  s->y = y = loom_tensor_new (LOOM_F64, wire->type.shape.rank, dims, NULL);
  if (y == NULL)
    return NULL;
  done = row->compute != NULL ? row->compute (s) : compute_numbers (s, row);
  if (done && !differs (y, &wire->type.shape, 0, 1))
    y = compact (g_steal_pointer (&y), &wire->type.shape);
  same = done && y != NULL ? find_same (s, wire, y) : NULL;
  return same != NULL ? loom_tensor_ref (same) : done ? g_steal_pointer (&y) : NULL;
}

static LoomTensor *
compute (Trial *t, const OnnxWire *wire, guint depth)
{
  const Row *row = row_of (wire->node);
  Step s = { .trial = t, .node = wire->node, .n = wire->node->n_in };
  LoomTensor *whole[MAX_OPERANDS] = { NULL }, *y = NULL;
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  const gboolean is_range = row->compute == s_arange;
  gboolean good = depth <= MAX_DEPTH && s.n <= MAX_OPERANDS;

  for (guint i = 0; good && i < s.n && !is_range; i++)
    {
      const OnnxWire *from = wire->node->in[i];

      s.in[i] = from != NULL ? value_of (t, from, depth + 1) : NULL;
      good = from == NULL || (s.in[i] != NULL && (row->moves || !varies (t, from, s.in[i])));
    }
  good = good && (is_range || s.n == 0 || s.in[0] != NULL) && find_sizes (&s, row, wire, dims);
  if (good && broadcasts (row) && find_same (&s, wire, NULL) != NULL)
    return loom_tensor_ref (find_same (&s, wire, NULL));
  for (guint i = 0; good && i < s.n && !broadcasts (row); i++)
    if (s.in[i] != NULL)
      {
        s.in[i] = whole[i] = all_rows (t, wire->node->in[i], s.in[i]);
        good = whole[i] != NULL;
      }
  if (good)
    y = compute_step (&s, row, wire, dims);
  for (guint i = 0; i < MAX_OPERANDS; i++)
    g_clear_pointer (&whole[i], loom_tensor_unref);
  return y;
}

static const LoomTensor *
value_of (Trial *t, const OnnxWire *wire, guint depth)
{
  gpointer value;

  if (!g_hash_table_lookup_extended (t->values, wire, NULL, &value))
    {
      value = compute (t, wire, depth);
      g_hash_table_insert (t->values, (gpointer)wire, value);
    }
  return value;
}

static gboolean
reads_no_data (const OnnxWire *wire, GHashTable *known, guint depth)
{
  const OnnxNode *node = wire->node;
  const Row *row = node != NULL ? row_of (node) : NULL;
  gpointer found;
  gboolean is_free;

  if (row == NULL || depth > MAX_DEPTH)
    return FALSE;
  if (g_hash_table_lookup_extended (known, node, NULL, &found))
    return GPOINTER_TO_INT (found);
  is_free = TRUE;
  for (guint i = 0; i < node->n_in && is_free && row->compute != s_arange; i++)
    is_free = node->in[i] == NULL || reads_no_data (node->in[i], known, depth + 1);
  g_hash_table_insert (known, (gpointer)node, GINT_TO_POINTER (is_free));
  return is_free;
}

static void
tensor_unref (gpointer tensor)
{
  if (tensor != NULL)
    loom_tensor_unref (tensor);
}

/* What t computes for a wire, as first rows. NULL if other rows differ. (transfer full) */
static LoomTensor *
try_sizes (Trial *t, const OnnxWire *wire)
{
  const LoomTensor *x = value_of (t, wire, 0);

  return x != NULL && !differs (x, &wire->type.shape, 0, 1) ? first_rows (x, &wire->type.shape) : NULL;
}

gboolean
onnx_reads_no_data (const OnnxWire *wire, GHashTable *known)
{
  return reads_no_data (wire, known, 0);
}

gboolean
onnx_trial_broadcasts (const OnnxNode *node)
{
  const Row *row = row_of (node);

  return row != NULL && (row->number != NULL || row->compute == s_where);
}

/* Two choices, in each of which all symbols have different values. */
LoomTensor *
onnx_trial_value (const OnnxWire *wire)
{
  g_autoptr (GHashTable) known = g_hash_table_new (NULL, NULL);
  g_autoptr (LoomTensor) a = NULL, b = NULL;
  Trial first = { .other = NULL }, second = { .other = &first };

  if (!reads_no_data (wire, known, 0))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (first.binding.value); i++)
    {
      first.binding.value[i] = 2 + i;
      second.binding.value[i] = 5 + 2 * i;
    }
  first.values = g_hash_table_new_full (NULL, NULL, NULL, tensor_unref);
  second.values = g_hash_table_new_full (NULL, NULL, NULL, tensor_unref);
  a = try_sizes (&first, wire);
  b = a != NULL ? try_sizes (&second, wire) : NULL;
  g_hash_table_unref (first.values);
  g_hash_table_unref (second.values);
  return b != NULL && loom_tensor_equal_bits (a, b) ? g_steal_pointer (&a) : NULL;
}
