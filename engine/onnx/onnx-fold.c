/* Folds constants: computes values that depend on no data during the import.
 *
 * Exporters write shapes as small programs: Shape, Gather, Unsqueeze, Concat, then Reshape. These are evaluated here,
 * with integers and without rounding, and only if they are small: a weight is never folded, because training would then
 * change another tensor. */
#include "engine/onnx/onnx-fold.h"
#include "engine/onnx/onnx-numbers.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const char *name;
  LoomTensor *(*fold) (const Fold *f);
  double (*number) (double a, double b);
  gint64 (*integer) (gint64 a, gint64 b);
  /* computes with dynamic sizes; FALSE if the result is no symbol */
  gboolean (*size) (LoomDim a, LoomDim b, LoomDim *y);
  gboolean is_bool; /* the result is bool */
} FoldRow;

/* ---- dynamic sizes ------------------------------------------------------- */

/* Greater than the number of elements of any tensor. */
#define FIRST_DYNAMIC (G_GINT64_CONSTANT (1) << 61)

static gint64
dynamic_number (OnnxImport *all, LoomDim dim)
{
  for (guint i = 0; i < all->dynamic->len; i++)
    if (loom_dim_equal (g_array_index (all->dynamic, LoomDim, i), dim))
      return FIRST_DYNAMIC + i;
  g_array_append_val (all->dynamic, dim);
  return FIRST_DYNAMIC + all->dynamic->len - 1;
}

gboolean
onnx_dynamic_dim (const OnnxImport *all, gint64 number, LoomDim *dim)
{
  if (number < FIRST_DYNAMIC || number - FIRST_DYNAMIC >= all->dynamic->len)
    return FALSE;
  *dim = g_array_index (all->dynamic, LoomDim, number - FIRST_DYNAMIC);
  return TRUE;
}

gboolean
onnx_has_dynamic (const OnnxImport *all, const LoomTensor *t)
{
  LoomDim dim;

  for (gint64 i = 0; t->dtype == LOOM_I64 && all->dynamic->len > 0 && i < t->count; i++)
    if (onnx_dynamic_dim (all, ((const gint64 *)t->data)[i], &dim))
      return TRUE;
  return FALSE;
}

/* A size as a number; FALSE if it is neither known nor a symbol. */
static gboolean
number_of (OnnxImport *all, LoomDim dim, gint64 *number)
{
  if (loom_dim_is_unknown (dim))
    return FALSE;
  *number = loom_dim_is_known (dim) ? dim.coef : dynamic_number (all, dim);
  return TRUE;
}

/* A negative number is no size: −1 is the remainder, and others are errors of the file. */
static LoomDim
dim_of (const OnnxImport *all, gint64 number)
{
  LoomDim dim;

  if (onnx_dynamic_dim (all, number, &dim))
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

/* Only −1, the remainder, is certainly no size. */
static gboolean
d_equal (LoomDim a, LoomDim b, LoomDim *y)
{
  gboolean same = loom_dim_equal (a, b);

  *y = loom_dim (same);
  return same || a.coef < 0 || b.coef < 0;
}

/* ---- sources ---------------------------------------------------------- */

static LoomTensor *
fold_constant (const Fold *f)
{
  const Onnx__AttributeProto *a = f->node->n_attribute > 0 ? f->node->attribute[0] : NULL;
  LoomTensor *t = NULL;

  if (a == NULL || a->name == NULL)
    return NULL;
  if (g_str_equal (a->name, "value") && a->t != NULL)
    return onnx_tensor_read (f->all->external, a->t, "a constant", NULL);
  if (g_str_equal (a->name, "value_int") || g_str_equal (a->name, "value_float"))
    {
      gboolean is_int = g_str_equal (a->name, "value_int");
      t = fold_make (is_int ? LOOM_I64 : LOOM_F32, 0, NULL);
      if (is_int)
        *(gint64 *)t->data = a->i;
      else
        *(float *)t->data = a->f;
    }
  else if (g_str_equal (a->name, "value_ints"))
    {
      t = fold_make (LOOM_I64, 1, (gint64[]){ (gint64)a->n_ints });
      for (gsize i = 0; t != NULL && i < a->n_ints; i++)
        ((gint64 *)t->data)[i] = a->ints[i];
    }
  else if (g_str_equal (a->name, "value_floats"))
    {
      t = fold_make (LOOM_F32, 1, (gint64[]){ (gint64)a->n_floats });
      for (gsize i = 0; t != NULL && i < a->n_floats; i++)
        ((float *)t->data)[i] = a->floats[i];
    }
  return t;
}

static LoomTensor *
fold_constant_of_shape (const Fold *f)
{
  const Onnx__AttributeProto *a = onnx_attribute (f->node, "value");
  g_autoptr (LoomTensor) value
      = a != NULL && a->t != NULL ? onnx_tensor_read (f->all->external, a->t, "a constant", NULL) : NULL;
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (f->in[0] == NULL || f->in[0]->count > LOOM_SHAPE_MAX_RANK || (a != NULL && (value == NULL || value->count != 1)))
    return NULL;
  for (gint64 i = 0; i < f->in[0]->count; i++)
    dims[i] = onnx_tensor_int (f->in[0], i);
  LoomTensor *t = fold_make (value != NULL ? value->dtype : LOOM_F32, (int)f->in[0]->count, dims);
  for (gint64 i = 0; t != NULL && value != NULL && i < t->count; i++)
    fold_copy_element (t, i, value, 0);
  return t;
}

/* The shape of a value, if it is known, whatever its numbers. */
static gboolean
shape_of (const Fold *f, LoomShape *shape)
{
  const OnnxValue *value = f->node->n_input > 0 ? onnx_value_of (f->all, f->node->input[0]) : NULL;

  if (value == NULL || value->failed)
    return FALSE;
  if (value->constant != NULL)
    *shape = loom_tensor_shape (value->constant);
  else if (value->wire != NULL)
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
  gint64 rank = shape.rank, start = fold_attr_int (f, "start", 0), end = fold_attr_int (f, "end", rank);
  start = CLAMP (start < 0 ? start + rank : start, 0, rank);
  end = CLAMP (end < 0 ? end + rank : end, 0, rank);
  LoomTensor *t = fold_make (LOOM_I64, 1, (gint64[]){ MAX (0, end - start) });
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
  LoomTensor *t = fold_make (LOOM_I64, 0, NULL);
  if (!number_of (f->all, loom_shape_count (&shape), t->data))
    g_clear_pointer (&t, loom_tensor_unref);
  return t;
}

static LoomTensor *
fold_range (const Fold *f)
{
  if (f->n < 3 || f->in[0] == NULL || f->in[1] == NULL || f->in[2] == NULL
      || f->in[0]->count * f->in[1]->count * f->in[2]->count != 1)
    return NULL;
  double start = loom_tensor_get (f->in[0], 0), end = loom_tensor_get (f->in[1], 0), by = loom_tensor_get (f->in[2], 0);
  double n = by == 0 ? -1 : ceil ((end - start) / by);
  if (!(n >= 0 && n <= FOLD_MAX_RESULT))
    n = by != 0 && n < 0 ? 0 : -1;
  LoomTensor *t = n < 0 ? NULL : fold_make (f->in[0]->dtype, 1, (gint64[]){ (gint64)n });
  for (gint64 i = 0; t != NULL && i < t->count; i++)
    loom_tensor_set (t, i, start + (double)i * by);
  return t;
}

/* ---- arithmetic ------------------------------------------------------- */

static LoomTensor *
fold_reduce_prod (const Fold *f)
{
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  const LoomTensor *x = f->in[0];

  if (x->rank != 1 || x->dtype != LOOM_I64 || fold_ints (f, "axes", 1, axes) > 1)
    return NULL;
  LoomTensor *y = fold_make (LOOM_I64, fold_attr_int (f, "keepdims", 1) != 0, (gint64[]){ 1 });
  LoomDim product = loom_dim (1);
  for (gint64 i = 0; i < x->count; i++)
    product = loom_dim_mul (product, dim_of (f->all, onnx_tensor_int (x, i)));
  if (!number_of (f->all, product, y->data))
    g_clear_pointer (&y, loom_tensor_unref);
  return y;
}

static double
n_div (double a, double b)
{
  return a / b;
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
n_relu (double a, double b)
{
  return MAX (a, 0);
}
static double
n_sqrt (double a, double b)
{
  return sqrt (a);
}
static double
n_less_or_equal (double a, double b)
{
  return a <= b;
}
static double
n_greater_or_equal (double a, double b)
{
  return a >= b;
}

/* Two's complement, as in every implementation; signed overflow is undefined in C. */
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
i_relu (gint64 a, gint64 b)
{
  return MAX (a, 0);
}
static gint64
i_same (gint64 a, gint64 b)
{
  return a;
}

/* One operand, or two of equal shape, or one of them a single number. */
static LoomTensor *
fold_arithmetic (const Fold *f, const FoldRow *row)
{
  const LoomTensor *a = f->in[0], *b = f->n > 1 ? f->in[1] : a, *large;

  if (a == NULL || b == NULL || f->n > 2)
    return NULL;
  large = b->count > a->count || (b->count == a->count && b->rank > a->rank) ? b : a;
  if (a->dtype != b->dtype || (a->count != b->count && a->count != 1 && b->count != 1) || a->rank > 1 || b->rank > 1)
    return NULL;
  LoomTensor *y = fold_make (row->is_bool ? LOOM_BOOL : a->dtype, large->rank, large->dim);
  gboolean whole = row->integer != NULL && !loom_dtype_is_float (a->dtype);
  if (y != NULL && !whole && row->number == NULL)
    g_clear_pointer (&y, loom_tensor_unref);
  gboolean any_dynamic = onnx_has_dynamic (f->all, a) || onnx_has_dynamic (f->all, b);
  for (gint64 i = 0; y != NULL && i < y->count; i++)
    {
      gint64 ia = a->count == 1 ? 0 : i, ib = b->count == 1 ? 0 : i, number;
      LoomDim size;
      /* Plain numbers next to a dynamic size, such as −1, are used as numbers. */
      if (any_dynamic
          && (onnx_dynamic_dim (f->all, onnx_tensor_int (a, ia), &size)
              || onnx_dynamic_dim (f->all, onnx_tensor_int (b, ib), &size)))
        {
          if (row->size == NULL
              || !row->size (dim_of (f->all, onnx_tensor_int (a, ia)), dim_of (f->all, onnx_tensor_int (b, ib)), &size)
              || !number_of (f->all, size, &number))
            g_clear_pointer (&y, loom_tensor_unref);
          else if (row->is_bool)
            loom_tensor_set (y, i, (double)number);
          else
            ((gint64 *)y->data)[i] = number;
        }
      else if (whole)
        fold_set_integer (f, y, i, row->integer (onnx_tensor_int (a, ia), onnx_tensor_int (b, ib)));
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
  { "CastLike", fold_cast },
  { "Gather", fold_gather },
  { "Slice", fold_slice },
  { "Transpose", fold_transpose },
  { "Concat", fold_concat },
  { "ReduceProd", fold_reduce_prod },
  { "Where", fold_where },
  { "Expand", fold_expand },
  { "Add", NULL, onnx_number_add, i_add, d_add },
  { "Sub", NULL, onnx_number_sub, i_sub },
  { "Mul", NULL, onnx_number_mul, i_mul, d_mul },
  { "Div", NULL, n_div, i_div, d_div },
  { "Mod", NULL, NULL, i_mod },
  { "Min", NULL, onnx_number_min, i_min },
  { "Max", NULL, onnx_number_max, i_max },
  { "Neg", NULL, onnx_number_neg, i_neg },
  { "Floor", NULL, n_floor, i_same },
  { "Ceil", NULL, n_ceil, i_same },
  { "Relu", NULL, n_relu, i_relu },
  { "Sqrt", NULL, n_sqrt, NULL },
  { "Equal", NULL, onnx_number_equal, NULL, d_equal, TRUE },
  { "Less", NULL, onnx_number_less, NULL, NULL, TRUE },
  { "Greater", NULL, onnx_number_greater, NULL, NULL, TRUE },
  { "LessOrEqual", NULL, n_less_or_equal, NULL, NULL, TRUE },
  { "GreaterOrEqual", NULL, n_greater_or_equal, NULL, NULL, TRUE },
  { "Not", NULL, onnx_number_not, NULL, NULL, TRUE },
  { "And", NULL, onnx_number_and, NULL, NULL, TRUE },
  { "Or", NULL, onnx_number_or, NULL, NULL, TRUE },
};

/* A table of the state dict, such as the indices of a position bias, is loaded and saved with the weights. */
static gboolean
is_table (const OnnxImport *all, const OnnxValue *value)
{
  return value->constant->count > 1
         && GPOINTER_TO_INT (g_hash_table_lookup (all->kinds, value->name)) == ONNX_KIND_BUFFER;
}

LoomTensor *
onnx_fold (OnnxImport *all, const Onnx__NodeProto *node, gboolean given, guint depth)
{
  const FoldRow *row = NULL;
  Fold f = { .all = all, .node = node, .elem_type = onnx_result_type (all, node, 0) };
  LoomTensor *wide[FOLD_MAX_IN] = { NULL }, *y;
  gboolean shape, dynamic = FALSE;

  if ((node->domain != NULL && *node->domain && !g_str_equal (node->domain, "ai.onnx")) || node->n_input > FOLD_MAX_IN)
    return NULL;
  for (guint i = 0; row == NULL && i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].name, node->op_type))
      row = &rows[i];
  if (row == NULL)
    return NULL;
  shape = row->fold == fold_shape || row->fold == fold_size;
  f.n = row->fold == fold_cast ? 1 : (guint)node->n_input; /* CastLike reads the type of its second input alone */
  for (guint i = 0; i < f.n && !shape; i++)
    {
      const OnnxValue *value = *node->input[i] ? onnx_value_of (all, node->input[i]) : NULL;
      f.in[i] = value != NULL ? onnx_known (all, node->input[i], given, depth) : NULL;
      if (*node->input[i] && f.in[i] == NULL)
        return NULL;
      if (value != NULL && value->is_weight && onnx_is_trained (all, value->name, value->constant))
        return NULL;
      if (value != NULL && value->is_weight && !given && is_table (all, value))
        return NULL;
    }
  if (f.n == 0 && row->fold != fold_constant)
    return NULL;
  if (f.n > 0 && !shape && f.in[0] == NULL)
    return NULL;
  /* Numbers of dynamic sizes need 64 bits, and so do numbers computed from them. */
  for (guint i = 0; i < f.n && !dynamic && !shape; i++)
    dynamic = f.in[i] != NULL && onnx_has_dynamic (all, f.in[i]);
  for (guint i = 0; i < f.n && dynamic; i++)
    if (f.in[i] != NULL && f.in[i]->dtype == LOOM_I32)
      f.in[i] = wide[i] = loom_tensor_convert (f.in[i], LOOM_I64, FALSE, NULL);
  y = row->fold != NULL ? row->fold (&f) : fold_arithmetic (&f, row);
  for (guint i = 0; i < f.n; i++)
    g_clear_pointer (&wide[i], loom_tensor_unref);
  return y;
}
