/* What depends on no data, computed while importing.
 *
 * Exporters write shapes as little programs: Shape, Gather, Unsqueeze, Concat, then Reshape. These are evaluated here,
 * on integers without rounding, and only while they are small: a weight is never computed away, because training would
 * then change something else. */
#include "engine/interop/onnx/onnx-private.h"

#include <math.h>
#include <string.h>

#define MAX_RESULT 4096
#define MAX_IN     16

typedef struct
{
  OnnxImport *all;
  const Onnx__NodeProto *node;
  guint n;
  const LoomTensor *in[MAX_IN]; /* NULL: left out */
} Fold;

typedef struct
{
  const char *name;
  LoomTensor *(*fold) (const Fold *f);
  double (*number) (double a, double b);
  gint64 (*integer) (gint64 a, gint64 b);
  gboolean (*size) (LoomDim a, LoomDim b, LoomDim *y); /* of open sizes; FALSE where it has no symbol */
  gboolean asks;                                       /* the result is bool */
} FoldRow;

/* ---- open sizes ------------------------------------------------------- */

/* More than any tensor has elements. */
#define FIRST_OPEN (G_GINT64_CONSTANT (1) << 61)

gint64
onnx_open_number (OnnxImport *all, LoomDim dim)
{
  for (guint i = 0; i < all->open->len; i++)
    if (loom_dim_equal (g_array_index (all->open, LoomDim, i), dim))
      return FIRST_OPEN + i;
  g_array_append_val (all->open, dim);
  return FIRST_OPEN + all->open->len - 1;
}

gboolean
onnx_open_dim (const OnnxImport *all, gint64 number, LoomDim *dim)
{
  if (number < FIRST_OPEN || number - FIRST_OPEN >= all->open->len)
    return FALSE;
  *dim = g_array_index (all->open, LoomDim, number - FIRST_OPEN);
  return TRUE;
}

gboolean
onnx_has_open (const OnnxImport *all, const LoomTensor *t)
{
  LoomDim dim;

  for (gint64 i = 0; t->dtype == LOOM_I64 && all->open->len > 0 && i < t->count; i++)
    if (onnx_open_dim (all, ((const gint64 *)t->data)[i], &dim))
      return TRUE;
  return FALSE;
}

/* A size as a number; FALSE where it is neither known nor a symbol. */
static gboolean
number_of (OnnxImport *all, LoomDim dim, gint64 *number)
{
  if (loom_dim_is_unknown (dim))
    return FALSE;
  *number = loom_dim_is_known (dim) ? dim.coef : onnx_open_number (all, dim);
  return TRUE;
}

/* A negative number is no size: -1 asks for what is left, and others are mistakes of the file. */
static LoomDim
dim_of (const OnnxImport *all, gint64 number)
{
  LoomDim dim;

  if (onnx_open_dim (all, number, &dim))
    return dim;
  return number < 0 ? loom_dim_unknown () : loom_dim (number);
}

static gboolean
d_mul (LoomDim a, LoomDim b, LoomDim *y)
{
  *y = loom_dim_mul (a, b);
  return a.coef >= 0 && b.coef >= 0;
}

static gboolean
d_div (LoomDim a, LoomDim b, LoomDim *y)
{
  return a.coef >= 0 && b.coef > 0 && loom_dim_div (a, b, y);
}

static gboolean
d_add (LoomDim a, LoomDim b, LoomDim *y)
{
  *y = loom_dim_sum (a, b);
  return a.coef >= 0 && b.coef >= 0;
}

/* Only -1, "what is left", is surely no size. */
static gboolean
d_equal (LoomDim a, LoomDim b, LoomDim *y)
{
  gboolean same = loom_dim_equal (a, b);

  *y = loom_dim (same);
  return same || a.coef < 0 || b.coef < 0;
}

/* ---- parts ------------------------------------------------------------ */

static gint64
attr_int (const Fold *f, const char *name, gint64 def)
{
  const Onnx__AttributeProto *a = onnx_attribute (f->node, name);

  return a ? a->i : def;
}

static LoomTensor *
make (LoomDType dtype, int rank, const gint64 *dims)
{
  gint64 count = 1;

  if (rank < 0 || rank > LOOM_SHAPE_MAX_RANK)
    return NULL;
  for (int i = 0; i < rank; i++)
    {
      if (dims[i] < 0 || dims[i] > MAX_RESULT)
        return NULL;
      count *= dims[i];
      if (count > MAX_RESULT)
        return NULL;
    }
  return loom_tensor_new (dtype, rank, dims, NULL);
}

static void
copy_element (LoomTensor *to, gint64 at, const LoomTensor *from, gint64 i)
{
  gsize size = loom_dtype_size (from->dtype);

  memcpy ((char *)to->data + at * size, (const char *)from->data + i * size, size);
}

static LoomTensor *
same_elements (const LoomTensor *x, int rank, const gint64 *dims)
{
  LoomTensor *y = make (x->dtype, rank, dims);

  if (y && y->count == x->count && y->bytes > 0)
    memcpy (y->data, x->data, y->bytes);
  else if (y && y->count != x->count)
    g_clear_pointer (&y, loom_tensor_unref);
  return y;
}

/* A list of integers from an attribute or an input; -1 where there is neither. */
static int
ints (const Fold *f, const char *name, guint input, gint64 values[LOOM_SHAPE_MAX_RANK])
{
  const Onnx__AttributeProto *a = onnx_attribute (f->node, name);
  gint64 n = -1;

  if (a)
    n = (gint64)a->n_ints;
  else if (input < f->n && f->in[input])
    n = f->in[input]->count;
  for (gint64 i = 0; i < MIN (n, LOOM_SHAPE_MAX_RANK); i++)
    values[i] = a ? a->ints[i] : onnx_tensor_int (f->in[input], i);
  return n > LOOM_SHAPE_MAX_RANK ? -1 : (int)n;
}

/* ---- sources ---------------------------------------------------------- */

static LoomTensor *
fold_constant (const Fold *f)
{
  const Onnx__AttributeProto *a = f->node->n_attribute > 0 ? f->node->attribute[0] : NULL;
  LoomTensor *t = NULL;

  if (!a || !a->name)
    return NULL;
  if (g_str_equal (a->name, "value") && a->t)
    return onnx_tensor_read (f->all->external, a->t, "a constant", NULL);
  if (g_str_equal (a->name, "value_int") || g_str_equal (a->name, "value_float"))
    {
      gboolean is_int = g_str_equal (a->name, "value_int");
      t = make (is_int ? LOOM_I64 : LOOM_F32, 0, NULL);
      if (is_int)
        *(gint64 *)t->data = a->i;
      else
        *(float *)t->data = a->f;
    }
  else if (g_str_equal (a->name, "value_ints"))
    {
      t = make (LOOM_I64, 1, (gint64[]){ (gint64)a->n_ints });
      for (gsize i = 0; t && i < a->n_ints; i++)
        ((gint64 *)t->data)[i] = a->ints[i];
    }
  else if (g_str_equal (a->name, "value_floats"))
    {
      t = make (LOOM_F32, 1, (gint64[]){ (gint64)a->n_floats });
      for (gsize i = 0; t && i < a->n_floats; i++)
        ((float *)t->data)[i] = a->floats[i];
    }
  return t;
}

static LoomTensor *
fold_constant_of_shape (const Fold *f)
{
  const Onnx__AttributeProto *a = onnx_attribute (f->node, "value");
  g_autoptr (LoomTensor) value = a && a->t ? onnx_tensor_read (f->all->external, a->t, "a constant", NULL) : NULL;
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (!f->in[0] || f->in[0]->count > LOOM_SHAPE_MAX_RANK || (a && (!value || value->count != 1)))
    return NULL;
  for (gint64 i = 0; i < f->in[0]->count; i++)
    dims[i] = onnx_tensor_int (f->in[0], i);
  LoomTensor *t = make (value ? value->dtype : LOOM_F32, (int)f->in[0]->count, dims);
  for (gint64 i = 0; t && value && i < t->count; i++)
    copy_element (t, i, value, 0);
  return t;
}

/* The shape of a value, where it is known, whatever its numbers. */
static gboolean
shape_of (const Fold *f, LoomShape *shape)
{
  const OnnxValue *value = f->node->n_input > 0 ? g_hash_table_lookup (f->all->values, f->node->input[0]) : NULL;

  if (!value || value->failed)
    return FALSE;
  if (value->constant)
    *shape = loom_tensor_shape (value->constant);
  else if (value->wire)
    *shape = value->wire->type.shape;
  else
    return FALSE;
  return TRUE;
}

static LoomTensor *
fold_shape (const Fold *f)
{
  LoomShape shape;

  if (!shape_of (f, &shape))
    return NULL;
  gint64 rank = shape.rank, start = attr_int (f, "start", 0), end = attr_int (f, "end", rank);
  start = CLAMP (start < 0 ? start + rank : start, 0, rank);
  end = CLAMP (end < 0 ? end + rank : end, 0, rank);
  LoomTensor *t = make (LOOM_I64, 1, (gint64[]){ MAX (0, end - start) });
  for (gint64 i = 0; i < t->count; i++)
    if (!number_of (f->all, shape.dim[start + i], (gint64 *)t->data + i))
      {
        loom_tensor_unref (t);
        return NULL;
      }
  return t;
}

static LoomTensor *
fold_size (const Fold *f)
{
  LoomShape shape;

  if (!shape_of (f, &shape))
    return NULL;
  LoomTensor *t = make (LOOM_I64, 0, NULL);
  if (!number_of (f->all, loom_shape_count (&shape), t->data))
    g_clear_pointer (&t, loom_tensor_unref);
  return t;
}

static LoomTensor *
fold_range (const Fold *f)
{
  if (f->n < 3 || !f->in[0] || !f->in[1] || !f->in[2] || f->in[0]->count * f->in[1]->count * f->in[2]->count != 1)
    return NULL;
  double start = loom_tensor_get (f->in[0], 0), end = loom_tensor_get (f->in[1], 0), by = loom_tensor_get (f->in[2], 0);
  double n = by == 0 ? -1 : ceil ((end - start) / by);
  if (!(n >= 0 && n <= MAX_RESULT))
    n = by != 0 && n < 0 ? 0 : -1;
  LoomTensor *t = n < 0 ? NULL : make (f->in[0]->dtype, 1, (gint64[]){ (gint64)n });
  for (gint64 i = 0; t && i < t->count; i++)
    loom_tensor_set (t, i, start + (double)i * by);
  return t;
}

/* ---- the same elements ------------------------------------------------ */

static LoomTensor *
fold_identity (const Fold *f)
{
  return f->in[0] ? same_elements (f->in[0], f->in[0]->rank, f->in[0]->dim) : NULL;
}

static LoomTensor *
fold_unsqueeze (const Fold *f)
{
  gint64 axes[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK];
  int n = ints (f, "axes", 1, axes), rank = f->in[0]->rank + n, from = 0;
  gboolean is_new[LOOM_SHAPE_MAX_RANK] = { FALSE };

  if (n < 0 || rank > LOOM_SHAPE_MAX_RANK)
    return NULL;
  for (int i = 0; i < n; i++)
    {
      gint64 axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank || is_new[axis])
        return NULL;
      is_new[axis] = TRUE;
    }
  for (int i = 0; i < rank; i++)
    dims[i] = is_new[i] ? 1 : f->in[0]->dim[from++];
  return same_elements (f->in[0], rank, dims);
}

static LoomTensor *
fold_squeeze (const Fold *f)
{
  gint64 axes[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK];
  const LoomTensor *x = f->in[0];
  int n = ints (f, "axes", 1, axes), rank = 0;

  for (int i = 0; i < x->rank; i++)
    {
      gboolean drop = n < 0 && x->dim[i] == 1;
      for (int k = 0; k < n; k++)
        drop = drop || (axes[k] < 0 ? axes[k] + x->rank : axes[k]) == i;
      if (!drop)
        dims[rank++] = x->dim[i];
    }
  return same_elements (x, rank, dims);
}

static LoomTensor *
fold_reshape (const Fold *f)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], count = 1;
  const LoomTensor *x = f->in[0];
  int n = ints (f, "shape", 1, dims), open = -1;

  for (int i = 0; i < n; i++)
    {
      if (dims[i] == 0 && i < x->rank)
        dims[i] = x->dim[i];
      if (dims[i] < 0)
        open = i;
      else
        count *= dims[i];
    }
  if (open >= 0)
    dims[open] = count > 0 ? x->count / count : 0;
  return n < 0 ? NULL : same_elements (x, n, dims);
}

/* The dtype of Cast's "to"; TRUE where we have it. */
static LoomTensor *
fold_cast (const Fold *f)
{
  LoomDType dtype;

  if (!onnx_dtype ((int)attr_int (f, "to", 0), &dtype) || (dtype != LOOM_I64 && onnx_has_open (f->all, f->in[0])))
    return NULL;
  return loom_tensor_convert (f->in[0], dtype, FALSE, NULL);
}

/* ---- picking and joining ---------------------------------------------- */

static LoomTensor *
fold_gather (const Fold *f)
{
  const LoomTensor *x = f->in[0], *index = f->n > 1 ? f->in[1] : NULL;
  gint64 axis = attr_int (f, "axis", 0);

  /* Lists only: that is what shapes are. */
  if (!index || x->rank != 1 || (axis != 0 && axis != -1))
    return NULL;
  LoomTensor *y = make (x->dtype, index->rank, index->dim);
  for (gint64 i = 0; y && i < y->count; i++)
    {
      gint64 at = onnx_tensor_int (index, i);
      at = at < 0 ? at + x->count : at;
      if (at < 0 || at >= x->count)
        g_clear_pointer (&y, loom_tensor_unref);
      else
        copy_element (y, i, x, at);
    }
  return y;
}

/* The element of x at offset + the sum of index times stride, for each index below dims. */
static LoomTensor *
strided (const LoomTensor *x, const gint64 *dims, gint64 offset, const gint64 *stride)
{
  LoomTensor *y = make (x->dtype, x->rank, dims);

  for (gint64 i = 0; y && i < y->count; i++)
    {
      gint64 at = offset, rest = i;
      for (int d = x->rank - 1; d >= 0; d--)
        {
          at += rest % dims[d] * stride[d];
          rest /= dims[d];
        }
      copy_element (y, i, x, at);
    }
  return y;
}

static void
row_major (const LoomTensor *x, gint64 stride[LOOM_SHAPE_MAX_RANK])
{
  gint64 step = 1;

  for (int d = x->rank - 1; d >= 0; d--)
    {
      stride[d] = step;
      step *= x->dim[d];
    }
}

/* A negative step walks backwards; ends beyond either side mean "as far as there is". */
static LoomTensor *
fold_slice (const Fold *f)
{
  const LoomTensor *x = f->in[0];
  gint64 start[LOOM_SHAPE_MAX_RANK], end[LOOM_SHAPE_MAX_RANK], axes[LOOM_SHAPE_MAX_RANK], step[LOOM_SHAPE_MAX_RANK];
  int n = ints (f, "starts", 1, start), m = ints (f, "ends", 2, end), a = ints (f, "axes", 3, axes);
  int s = ints (f, "steps", 4, step);
  gint64 dims[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK], offset = 0;
  gboolean used[LOOM_SHAPE_MAX_RANK] = { FALSE };

  if (n < 0 || n != m || n > x->rank || (a >= 0 && a != n) || (s >= 0 && s != n))
    return NULL;
  for (guint i = 1; i < f->n; i++)
    if (f->in[i] && onnx_has_open (f->all, f->in[i]))
      return NULL;
  row_major (x, stride);
  for (int d = 0; d < x->rank; d++)
    dims[d] = x->dim[d];
  for (int i = 0; i < n; i++)
    {
      gint64 axis = a < 0 ? i : axes[i] < 0 ? axes[i] + x->rank : axes[i];
      gint64 by = s < 0 ? 1 : CLAMP (step[i], -G_MAXINT32, G_MAXINT32);
      if (axis < 0 || axis >= x->rank || by == 0 || used[axis])
        return NULL;
      gint64 size = x->dim[axis], from = start[i] < 0 ? start[i] + size : start[i];
      gint64 to = end[i] < 0 ? end[i] + size : end[i];
      from = by > 0 ? CLAMP (from, 0, size) : CLAMP (from, -1, size - 1);
      to = by > 0 ? CLAMP (to, 0, size) : CLAMP (to, -1, size - 1);
      dims[axis] = MAX (0, by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by);
      used[axis] = TRUE;
      offset += from * stride[axis];
      stride[axis] *= by;
    }
  return strided (x, dims, offset, stride);
}

/* Of whole numbers only: a weight, be it a single number, is the model's to train. */
static LoomTensor *
fold_transpose (const Fold *f)
{
  const LoomTensor *x = f->in[0];
  gint64 order[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK], old[LOOM_SHAPE_MAX_RANK], stride[LOOM_SHAPE_MAX_RANK];
  int n = ints (f, "perm", MAX_IN, order);
  gboolean used[LOOM_SHAPE_MAX_RANK] = { FALSE };

  if (loom_dtype_is_float (x->dtype) || (n >= 0 && n != x->rank))
    return NULL;
  row_major (x, old);
  for (int d = 0; d < x->rank; d++)
    {
      gint64 from = n < 0 ? x->rank - 1 - d : order[d];
      if (from < 0 || from >= x->rank || used[from])
        return NULL;
      used[from] = TRUE;
      dims[d] = x->dim[from];
      stride[d] = old[from];
    }
  return strided (x, dims, 0, stride);
}

static LoomTensor *
fold_concat (const Fold *f)
{
  gint64 count = 0, at = 0;

  for (guint i = 0; i < f->n; i++)
    {
      if (!f->in[i] || f->in[i]->rank != 1 || f->in[i]->dtype != f->in[0]->dtype)
        return NULL;
      count += f->in[i]->count;
    }
  LoomTensor *y = make (f->in[0]->dtype, 1, &count);
  for (guint i = 0; y && i < f->n; i++)
    for (gint64 k = 0; k < f->in[i]->count; k++)
      copy_element (y, at++, f->in[i], k);
  return y;
}

static LoomTensor *
fold_reduce_prod (const Fold *f)
{
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  const LoomTensor *x = f->in[0];

  if (x->rank != 1 || x->dtype != LOOM_I64 || ints (f, "axes", 1, axes) > 1)
    return NULL;
  LoomTensor *y = make (LOOM_I64, attr_int (f, "keepdims", 1) != 0, (gint64[]){ 1 });
  LoomDim product = loom_dim (1);
  for (gint64 i = 0; i < x->count; i++)
    product = loom_dim_mul (product, dim_of (f->all, onnx_tensor_int (x, i)));
  if (!number_of (f->all, product, y->data))
    g_clear_pointer (&y, loom_tensor_unref);
  return y;
}

static LoomTensor *
fold_where (const Fold *f)
{
  if (f->n < 3 || !f->in[0] || !f->in[1] || !f->in[2] || f->in[1]->dtype != f->in[2]->dtype)
    return NULL;
  const LoomTensor *large = f->in[0]->count > f->in[1]->count ? f->in[0] : f->in[1];
  large = f->in[2]->count > large->count ? f->in[2] : large;
  for (guint i = 0; i < 3; i++)
    if (f->in[i]->count != 1 && f->in[i]->count != large->count)
      return NULL;
  LoomTensor *y = make (f->in[1]->dtype, large->rank, large->dim);
  for (gint64 i = 0; y && i < y->count; i++)
    {
      const LoomTensor *from = loom_tensor_get (f->in[0], f->in[0]->count == 1 ? 0 : i) != 0 ? f->in[1] : f->in[2];
      copy_element (y, i, from, from->count == 1 ? 0 : i);
    }
  return y;
}

/* ---- arithmetic ------------------------------------------------------- */

static double
n_add (double a, double b)
{
  return a + b;
}
static double
n_sub (double a, double b)
{
  return a - b;
}
static double
n_mul (double a, double b)
{
  return a * b;
}
static double
n_div (double a, double b)
{
  return a / b;
}
static double
n_min (double a, double b)
{
  return MIN (a, b);
}
static double
n_max (double a, double b)
{
  return MAX (a, b);
}
static double
n_floor (double a, double b)
{
  return floor (a);
}
static double
n_ceil (double a, double b)
{
  return ceil (a);
}
static double
n_neg (double a, double b)
{
  return -a;
}
static double
n_sqrt (double a, double b)
{
  return sqrt (a);
}
static double
n_equal (double a, double b)
{
  return a == b;
}
static double
n_less (double a, double b)
{
  return a < b;
}
static double
n_greater (double a, double b)
{
  return a > b;
}
static double
n_not (double a, double b)
{
  return a == 0;
}

/* Two's complement, as every implementation computes; C leaves signed overflow open. */
static gint64
i_add (gint64 a, gint64 b)
{
  return (gint64)((guint64)a + (guint64)b);
}
static gint64
i_sub (gint64 a, gint64 b)
{
  return (gint64)((guint64)a - (guint64)b);
}
static gint64
i_mul (gint64 a, gint64 b)
{
  return (gint64)((guint64)a * (guint64)b);
}
static gint64
i_div (gint64 a, gint64 b)
{
  return b == 0 ? 0 : b == -1 ? i_sub (0, a) : a / b;
}
static gint64
i_mod (gint64 a, gint64 b)
{
  gint64 r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static gint64
i_min (gint64 a, gint64 b)
{
  return MIN (a, b);
}
static gint64
i_max (gint64 a, gint64 b)
{
  return MAX (a, b);
}
static gint64
i_neg (gint64 a, gint64 b)
{
  return i_sub (0, a);
}
static gint64
i_same (gint64 a, gint64 b)
{
  return a;
}

/* One or two operands of equal shape, or one of them a single number. */
static LoomTensor *
fold_arithmetic (const Fold *f, const FoldRow *row)
{
  const LoomTensor *a = f->in[0], *b = f->n > 1 ? f->in[1] : a, *large;

  if (!a || !b || f->n > 2)
    return NULL;
  large = b->count > a->count || (b->count == a->count && b->rank > a->rank) ? b : a;
  if (a->dtype != b->dtype || (a->count != b->count && a->count != 1 && b->count != 1) || a->rank > 1 || b->rank > 1)
    return NULL;
  LoomTensor *y = make (row->asks ? LOOM_BOOL : a->dtype, large->rank, large->dim);
  gboolean whole = row->integer && !loom_dtype_is_float (a->dtype);
  if (y && !whole && !row->number)
    g_clear_pointer (&y, loom_tensor_unref);
  gboolean any_open = onnx_has_open (f->all, a) || onnx_has_open (f->all, b);
  for (gint64 i = 0; y && i < y->count; i++)
    {
      gint64 ia = a->count == 1 ? 0 : i, ib = b->count == 1 ? 0 : i, number;
      LoomDim size;
      /* Beside an open size stand plain numbers, -1 among them, that are computed with as such. */
      if (any_open
          && (onnx_open_dim (f->all, onnx_tensor_int (a, ia), &size)
              || onnx_open_dim (f->all, onnx_tensor_int (b, ib), &size)))
        {
          if (!row->size
              || !row->size (dim_of (f->all, onnx_tensor_int (a, ia)), dim_of (f->all, onnx_tensor_int (b, ib)), &size)
              || !number_of (f->all, size, &number))
            g_clear_pointer (&y, loom_tensor_unref);
          else if (row->asks)
            loom_tensor_set (y, i, (double)number);
          else
            ((gint64 *)y->data)[i] = number;
        }
      else if (whole && y->dtype == LOOM_I64)
        ((gint64 *)y->data)[i] = row->integer (onnx_tensor_int (a, ia), onnx_tensor_int (b, ib));
      else if (whole)
        loom_tensor_set (y, i, (double)row->integer (onnx_tensor_int (a, ia), onnx_tensor_int (b, ib)));
      else
        loom_tensor_set (y, i, row->number (loom_tensor_get (a, ia), loom_tensor_get (b, ib)));
    }
  return y;
}

static const FoldRow rows[] = {
  { "Constant", fold_constant },
  { "ConstantOfShape", fold_constant_of_shape },
  { "Shape", fold_shape },
  { "Size", fold_size },
  { "Range", fold_range },
  { "Identity", fold_identity },
  { "Unsqueeze", fold_unsqueeze },
  { "Squeeze", fold_squeeze },
  { "Reshape", fold_reshape },
  { "Cast", fold_cast },
  { "Gather", fold_gather },
  { "Slice", fold_slice },
  { "Transpose", fold_transpose },
  { "Concat", fold_concat },
  { "ReduceProd", fold_reduce_prod },
  { "Where", fold_where },
  { "Add", NULL, n_add, i_add, d_add },
  { "Sub", NULL, n_sub, i_sub },
  { "Mul", NULL, n_mul, i_mul, d_mul },
  { "Div", NULL, n_div, i_div, d_div },
  { "Mod", NULL, NULL, i_mod },
  { "Min", NULL, n_min, i_min },
  { "Max", NULL, n_max, i_max },
  { "Neg", NULL, n_neg, i_neg },
  { "Floor", NULL, n_floor, i_same },
  { "Ceil", NULL, n_ceil, i_same },
  { "Sqrt", NULL, n_sqrt, NULL },
  { "Equal", NULL, n_equal, NULL, d_equal, TRUE },
  { "Less", NULL, n_less, NULL, NULL, TRUE },
  { "Greater", NULL, n_greater, NULL, NULL, TRUE },
  { "Not", NULL, n_not, NULL, NULL, TRUE },
};

LoomTensor *
onnx_fold (OnnxImport *all, const Onnx__NodeProto *node, gboolean given, guint depth)
{
  const FoldRow *row = NULL;
  Fold f = { .all = all, .node = node };
  gboolean shape;

  if ((node->domain && *node->domain && !g_str_equal (node->domain, "ai.onnx")) || node->n_input > MAX_IN)
    return NULL;
  for (guint i = 0; !row && i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].name, node->op_type))
      row = &rows[i];
  if (!row)
    return NULL;
  shape = row->fold == fold_shape || row->fold == fold_size;
  f.n = (guint)node->n_input;
  for (guint i = 0; i < f.n && !shape; i++)
    {
      const OnnxValue *value = *node->input[i] ? g_hash_table_lookup (all->values, node->input[i]) : NULL;
      f.in[i] = value ? onnx_known (all, node->input[i], given, depth) : NULL;
      if (*node->input[i] && !f.in[i])
        return NULL;
      if (value && value->is_weight && loom_dtype_is_float (value->constant->dtype) && value->constant->count > 1)
        return NULL;
    }
  if (f.n == 0 && row->fold != fold_constant)
    return NULL;
  if (f.n > 0 && !shape && !f.in[0])
    return NULL;
  return row->fold ? row->fold (&f) : fold_arithmetic (&f, row);
}
