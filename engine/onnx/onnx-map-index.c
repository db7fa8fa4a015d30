/* Imports operators with indices. ONNX counts negative indices from the end; Gradloom, like PyTorch, does not. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-window.h"

static const char *
int_text (OnnxCtx *c, gint64 n)
{
  return onnx_text (c, "%" G_GINT64_FORMAT, n);
}

/* A model counts its positions in a handful of nodes; this bounds the search. */
#define MAX_COUNTING_VISITS 256

/* TRUE if no element of a value of integers is negative, whatever the data: positions that a model counts. */
static gboolean
is_never_negative (OnnxCtx *c, const char *name, guint *visits)
{
  static const char *const results[] = { "Shape", "Size", "ArgMax", "ArgMin", "NonZero", NULL };
  static const char *const of_one[]
      = { "Cast", "Identity", "Unsqueeze", "Squeeze", "Reshape", "Expand", "Transpose", "Slice", "Gather", NULL };
  static const char *const of_all[] = { "Add", "Mul", "Range", "Concat", "Max", NULL };
  const OnnxValue *value = onnx_value_of (c->all, name);
  const Onnx__NodeProto *node = value != NULL ? value->producer : NULL;
  gsize n;

  if (value != NULL && value->constant != NULL)
    {
      for (gint64 i = 0; i < value->constant->count; i++)
        if (!(loom_tensor_get (value->constant, i) >= 0))
          return FALSE;
      return TRUE;
    }
  if (node == NULL || ++*visits > MAX_COUNTING_VISITS || (node->domain != NULL && *node->domain))
    return FALSE;
  if (g_strv_contains (results, node->op_type))
    return TRUE;
  n = g_strv_contains (of_one, node->op_type) ? 1 : g_strv_contains (of_all, node->op_type) ? node->n_input : 0;
  for (gsize i = 0; i < n; i++)
    if (!is_never_negative (c, node->input[i], visits))
      return FALSE;
  return n > 0;
}

/* index, or index + size if it is negative. */
static const OnnxWire *
from_the_end (OnnxCtx *c, guint input, const OnnxWire *index, LoomDim size)
{
  guint visits = 0;

  index = onnx_cast (c, index, LOOM_I64);
  if (c->failed || is_never_negative (c, c->node->input[input], &visits))
    return index;
  if (!loom_dim_is_known (size))
    onnx_fail (c, "its indices may count from the end of an axis that has no fixed size. Fix the size.");
  return onnx_emit (
      c, "where",
      ONNX_IN (onnx_with_number (c, "lt", index, 0), onnx_with_number (c, "add", index, (double)size.coef), index),
      NULL);
}

const OnnxWire *
onnx_pick (OnnxCtx *c, const OnnxWire *x, int axis, const OnnxWire *index)
{
  LoomShape flat = { .rank = 1, .dim = { loom_shape_count (&index->type.shape) } }, out = { 0 };

  for (int i = 0; i < axis; i++)
    out.dim[out.rank++] = x->type.shape.dim[i];
  for (int i = 0; i < index->type.shape.rank && out.rank < LOOM_SHAPE_MAX_RANK; i++)
    out.dim[out.rank++] = index->type.shape.dim[i];
  for (int i = axis + 1; i < x->type.shape.rank && out.rank < LOOM_SHAPE_MAX_RANK; i++)
    out.dim[out.rank++] = x->type.shape.dim[i];
  index = onnx_reshape (c, onnx_cast (c, index, LOOM_I64), &flat);
  return onnx_reshape (c, onnx_emit (c, "index_select", ONNX_IN (x, index), "dim", onnx_text (c, "%d", axis), NULL),
                       &out);
}

/* Looking up rows of a table by integers is an embedding; other calls gather along one axis, with a flat index. */
static void
map_gather (OnnxCtx *c)
{
  const OnnxValue *place = onnx_has (c, 1) ? onnx_reach (c, c->node->input[1]) : NULL;
  const OnnxWire *row = place != NULL && place->wire != NULL
                            ? onnx_scope_row (c, c->node->input[0], place->wire, onnx_attr_int (c, "axis", 0))
                            : NULL;
  if (row != NULL)
    {
      onnx_out (c, 0, row);
      return;
    }
  const OnnxValue *table = onnx_has (c, 0) ? onnx_reach (c, c->node->input[0]) : NULL;
  gint64 axis = onnx_attr_int (c, "axis", 0);

  if (table != NULL && table->constant != NULL && table->is_weight && table->constant->rank == 2 && axis == 0
      && !onnx_is_constant (c, 1) && loom_dtype_is_float (table->constant->dtype))
    {
      /* ONNX has no word for the row of padding, which PyTorch does not train. */
      g_autofree char *padding = onnx_call_argument (c->node, "embedding", 2);
      const gint64 row_of_padding = padding != NULL ? g_ascii_strtoll (padding, NULL, 10) : -1;
      const OnnxWire *w = onnx_weight (c, 0);
      onnx_out (c, 0,
                onnx_emit (c, "embedding", ONNX_IN (onnx_in (c, 1), w), "num_embeddings",
                           int_text (c, table->constant->dim[0]), "embedding_dim",
                           int_text (c, table->constant->dim[1]), "padding_idx",
                           row_of_padding >= 0 ? int_text (c, row_of_padding) : NULL, NULL));
      return;
    }
  const OnnxWire *x = onnx_in (c, 0), *index = onnx_in (c, 1);
  int at = onnx_axis (c, axis, MAX (x->type.shape.rank, 1));
  const LoomTensor *one = onnx_is_constant (c, 1) ? onnx_const_or_null (c, 1) : NULL;
  if (!c->failed && one != NULL && one->rank == 0 && !onnx_has_dynamic (c->all, one))
    {
      onnx_out (c, 0,
                onnx_emit (c, "select", ONNX_IN (x), "dim", onnx_text (c, "%d", at), "index",
                           int_text (c, onnx_tensor_int (one, 0)), NULL));
      return;
    }
  onnx_out (c, 0, onnx_pick (c, x, at, from_the_end (c, 1, index, x->type.shape.dim[at])));
}

static void
map_gather_elements (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *index = onnx_in (c, 1);
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (x->type.shape.rank, 1));

  index = from_the_end (c, 1, index, x->type.shape.dim[axis]);
  onnx_out (c, 0, onnx_emit (c, "gather", ONNX_IN (x, index), "dim", onnx_text (c, "%d", axis), NULL));
}

static const char *
reduction_word (OnnxCtx *c)
{
  return onnx_attr_word (c, "reduction", "none", "add", "mul", "max", "min");
}

/* Translates ONNX's names of the reduction of duplicates to PyTorch's. */
static const char *
reduction (OnnxCtx *c)
{
  static const char *const words[][2]
      = { { "add", "add" }, { "mul", "multiply" }, { "max", "amax" }, { "min", "amin" } };
  const char *word = reduction_word (c);

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (word, words[i][0]))
      return words[i][1];
  return NULL;
}

static void
map_scatter_elements (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *index = onnx_in (c, 1), *source = onnx_in (c, 2);
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (x->type.shape.rank, 1));
  const char *how = reduction (c), *dim = onnx_text (c, "%d", axis);

  index = from_the_end (c, 1, index, x->type.shape.dim[axis]);
  onnx_out (c, 0, onnx_emit (c, "scatter", ONNX_IN (x, index, source), "dim", dim, "reduce", how, NULL));
}

static void
map_gather_nd (OnnxCtx *c)
{
  onnx_out (c, 0,
            onnx_emit (c, "gather_nd", ONNX_IN (onnx_in (c, 0), onnx_cast (c, onnx_in (c, 1), LOOM_I64)), "batch_dims",
                       onnx_has_attr (c, "batch_dims") ? int_text (c, onnx_attr_int (c, "batch_dims", 0)) : NULL,
                       NULL));
}

static void
map_scatter_nd (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *index = onnx_cast (c, onnx_in (c, 1), LOOM_I64);

  onnx_out (c, 0,
            onnx_emit (c, "scatter_nd", ONNX_IN (x, index, onnx_in (c, 2)), "reduction", reduction_word (c), NULL));
}

static void
map_top_k (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  const LoomTensor *t = onnx_has (c, 1) ? onnx_const (c, 1, "K") : NULL;
  gint64 k = t != NULL && t->count == 1 ? onnx_tensor_int (t, 0) : onnx_attr_int (c, "k", 1);

  y = onnx_emit (c, "topk", ONNX_IN (x), "k", int_text (c, k), "dim", int_text (c, onnx_attr_int (c, "axis", -1)),
                 "largest", onnx_attr_int (c, "largest", 1) ? NULL : "false", NULL);
  onnx_out (c, 0, y);
  onnx_out (c, 1, onnx_sibling (c, y, "indices"));
}

/* Compares with a row of class numbers: an index that is no class, also counted from the end, is "off" everywhere. */
static void
map_one_hot (OnnxCtx *c)
{
  const OnnxWire *index = onnx_cast (c, onnx_in (c, 0), LOOM_I64), *values = onnx_in (c, 2);
  const LoomTensor *t = onnx_const (c, 1, "depth");
  gint64 depth = t != NULL && t->count == 1 ? onnx_tensor_int (t, 0) : 1;
  int rank = index->type.shape.rank, axis = onnx_axis (c, onnx_attr_int (c, "axis", -1), rank + 1);
  LoomShape line = { .rank = rank - axis + 1 }, one = loom_shape_scalar ();

  if (c->failed)
    return;
  for (int i = 0; i < line.rank; i++)
    line.dim[i] = loom_dim (i == 0 ? depth : 1);
  const OnnxWire *classes = onnx_emit (c, "arange", 0, NULL, "end", int_text (c, depth), NULL);
  index = onnx_emit (c, "unsqueeze", ONNX_IN (from_the_end (c, 0, index, loom_dim (depth))), "dim",
                     onnx_text (c, "%d", axis), NULL);
  const OnnxWire *hit = onnx_binary (c, "eq", index, onnx_reshape (c, classes, &line));
  const OnnxWire *off = onnx_reshape (c, onnx_slice (c, values, 0, 0, 1, 1), &one);
  const OnnxWire *on = onnx_reshape (c, onnx_slice (c, values, 0, 1, 2, 1), &one);
  onnx_out (c, 0, onnx_emit (c, "where", ONNX_IN (hit, on, off), NULL));
}

/* "exclusive" leaves out the element itself: all sums move one position on, after a zero. "reverse" sums from the other
 * end. */
static void
map_cumulative (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y = x;
  const LoomTensor *t = onnx_const (c, 1, "axis");
  int axis = onnx_axis (c, t != NULL && t->count == 1 ? onnx_tensor_int (t, 0) : 0, MAX (x->type.shape.rank, 1));
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };
  const char *dim = onnx_text (c, "%d", axis);
  gboolean reverse = onnx_attr_int (c, "reverse", 0) != 0;

  if (reverse)
    y = onnx_emit (c, "slice", ONNX_IN (y), "dim", dim, "step", "-1", NULL);
  if (onnx_attr_int (c, "exclusive", 0))
    {
      begin[axis] = 1;
      end[axis] = -1;
      y = onnx_pad (c, y, begin, end, NULL, g_str_equal (c->map->op, "cumprod") ? "1" : "0");
    }
  y = onnx_emit (c, c->map->op, ONNX_IN (y), "dim", dim, NULL);
  if (reverse)
    y = onnx_emit (c, "slice", ONNX_IN (y), "dim", dim, "step", "-1", NULL);
  onnx_out (c, 0, onnx_wrap (c, onnx_cast (c, y, x->type.dtype), onnx_elem_type (c, 0)));
}

static void
map_nonzero (OnnxCtx *c)
{
  const OnnxWire *y = onnx_emit (c, "nonzero", ONNX_IN (onnx_in (c, 0)), NULL);

  onnx_out (c, 0, onnx_emit (c, "transpose", ONNX_IN (y), "dim0", "0", "dim1", "1", NULL));
}

/* If the condition is known, and a list, the positions are a constant index. */
static void
map_compress (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const LoomTensor *t = onnx_const (c, 1, "condition");
  gboolean flat = !onnx_has_attr (c, "axis");
  int axis = flat ? 0 : onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (x->type.shape.rank, 1));
  g_autoptr (LoomTensor) index = NULL;
  gint64 n = 0;

  for (gint64 i = 0; t != NULL && i < t->count; i++)
    n += loom_tensor_get (t, i) != 0;
  index = onnx_tensor_new (c, LOOM_I64, 1, &n);
  n = 0;
  for (gint64 i = 0; t != NULL && index != NULL && i < t->count; i++)
    if (loom_tensor_get (t, i) != 0)
      ((gint64 *)index->data)[n++] = i;
  if (flat)
    {
      LoomShape line = { .rank = 1, .dim = { loom_shape_count (&x->type.shape) } };
      x = onnx_reshape (c, x, &line);
    }
  onnx_out (c, 0,
            onnx_emit (c, "index_select", ONNX_IN (x, onnx_tensor_wire (c, index, "places", FALSE)), "dim",
                       onnx_text (c, "%d", axis), NULL));
}

/* Reads each sequence's first steps backwards: the index is length - 1 - t before its end and t after it. */
static void
map_reverse_sequence (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *length = onnx_cast (c, onnx_in (c, 1), LOOM_I64);
  int rank = x->type.shape.rank;
  int batch = onnx_axis (c, onnx_attr_int (c, "batch_axis", 1), rank),
      time = onnx_axis (c, onnx_attr_int (c, "time_axis", 0), rank);
  LoomShape along = { .rank = rank }, per_row = { .rank = rank };

  for (int i = 0; i < rank; i++)
    {
      along.dim[i] = i == time ? x->type.shape.dim[i] : loom_dim (1);
      per_row.dim[i] = i == batch ? x->type.shape.dim[i] : loom_dim (1);
    }
  const OnnxWire *t = onnx_emit (c, "arange", 0, NULL, "end", int_text (c, onnx_dim (c, x, time)), NULL);
  t = onnx_reshape (c, t, &along);
  length = onnx_reshape (c, length, &per_row);
  const OnnxWire *back = onnx_with_number (c, "sub", onnx_binary (c, "sub", length, t), 1);
  const OnnxWire *index = onnx_emit (c, "where", ONNX_IN (onnx_binary (c, "lt", t, length), back, t), NULL);
  index = onnx_emit (c, "expand", ONNX_IN (index), "shape", onnx_dims (c, &x->type.shape), NULL);
  onnx_out (c, 0, onnx_emit (c, "gather", ONNX_IN (x, index), "dim", onnx_text (c, "%d", time), NULL));
}

/* The first position of each distinct element: the minimum of its positions. */
static const OnnxWire *
first_positions (OnnxCtx *c, const OnnxWire *inverse, const OnnxWire *counts)
{
  LoomShape line = { .rank = 1, .dim = { loom_shape_count (&inverse->type.shape) } };
  gint64 n = loom_dim_is_known (line.dim[0]) ? line.dim[0].coef : -1;

  if (n < 0)
    {
      onnx_fail (c, "its output of first positions needs an input of fixed size.");
      return inverse;
    }
  const OnnxWire *far = onnx_with_number (c, "add", onnx_with_number (c, "mul", counts, 0), (double)n);
  const OnnxWire *place = onnx_emit (c, "arange", 0, NULL, "end", int_text (c, n), NULL);
  return onnx_emit (c, "scatter", ONNX_IN (far, onnx_reshape (c, inverse, &line), place), "dim", "0", "reduce", "amin",
                    NULL);
}

static void
map_unique (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  gboolean first = onnx_has_output (c, 1), inverse = first || onnx_has_output (c, 2),
           counts = first || onnx_has_output (c, 3);
  LoomShape line = { .rank = 1, .dim = { loom_shape_count (&x->type.shape) } };

  if (!onnx_attr_int (c, "sorted", 1) || onnx_has_attr (c, "axis"))
    {
      onnx_fail (c, "%s it is not known here.", onnx_has_attr (c, "axis") ? "along an axis" : "in order of appearance");
      return;
    }
  y = onnx_emit (c, "unique", ONNX_IN (onnx_reshape (c, x, &line)), "return_inverse", inverse ? "true" : NULL,
                 "return_counts", counts ? "true" : NULL, NULL);
  onnx_out (c, 0, y);
  if (first)
    onnx_out (c, 1, first_positions (c, onnx_sibling (c, y, "inverse"), onnx_sibling (c, y, "counts")));
  if (onnx_has_output (c, 2))
    onnx_out (c, 2, onnx_sibling (c, y, "inverse"));
  if (onnx_has_output (c, 3))
    onnx_out (c, 3, onnx_sibling (c, y, "counts"));
}

const OnnxMap onnx_map_index[] = {
  { "Gather", "index_select", map_gather },
  { "GatherElements", "gather", map_gather_elements },
  { "GatherND", "gather_nd", map_gather_nd },
  { "Scatter", "scatter", map_scatter_elements },
  { "ScatterElements", "scatter", map_scatter_elements },
  { "ScatterND", "scatter_nd", map_scatter_nd },
  { "TopK", "topk", map_top_k },
  { "OneHot", "where", map_one_hot },
  { "CumSum", "cumsum", map_cumulative },
  { "CumProd", "cumprod", map_cumulative },
  { "NonZero", "nonzero", map_nonzero },
  { "Compress", "index_select", map_compress },
  { "ReverseSequence", "gather", map_reverse_sequence },
  { "Unique", "unique", map_unique },
  { NULL },
};
