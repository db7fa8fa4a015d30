/* Imports operators that rearrange elements. Shapes and axes, which are attributes or inputs depending on the operator
 * set, become attributes. */
#include "engine/onnx/onnx-private.h"
#include "engine/onnx/onnx-window.h"

#include <math.h>
#include <string.h>

static const char *
int_text (OnnxCtx *c, gint64 n)
{
  return onnx_text (c, "%" G_GINT64_FORMAT, n);
}

/* 0 keeps a size, −1 is the remainder. */
static void
map_reshape (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  gboolean present, allow_zero = onnx_attr_int (c, "allowzero", 0) != 0;
  guint n = onnx_sizes (c, "shape", 1, dims, LOOM_SHAPE_MAX_RANK, &present);
  LoomShape shape = { .rank = (int)n };
  LoomDim rest = loom_shape_count (&x->type.shape);
  int dynamic = -1;

  for (guint i = 0; i < n && !c->failed; i++)
    {
      if (dims[i] == 0 && !allow_zero && (int)i < x->type.shape.rank)
        shape.dim[i] = x->type.shape.dim[i];
      else if (dims[i] >= 0)
        shape.dim[i] = onnx_size (c, dims[i]);
      else
        dynamic = (int)i;
    }
  if (!c->failed && onnx_batch_place (c, x, &shape, dynamic))
    dynamic = -1;
  /* Sizes that occur on both sides are cancelled one by one, so that a symbol remains a symbol. */
  for (guint i = 0; dynamic >= 0 && i < n; i++)
    if ((int)i != dynamic && !loom_dim_div (rest, shape.dim[i], &rest))
      rest = loom_dim_unknown ();
  if (dynamic >= 0)
    shape.dim[dynamic]
        = loom_dim_equal (rest, loom_dim (0)) || !loom_dim_is_unknown (rest) ? rest : loom_dim_unknown ();
  onnx_out (c, 0, onnx_reshape (c, x, &shape));
}

/* Two dimensions: all before the axis, and all from it on. */
static void
map_flatten (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 axis = onnx_attr_int (c, "axis", 1);
  int rank = x->type.shape.rank;
  LoomShape shape = { .rank = 2, .dim = { loom_dim (1), loom_dim (1) } };

  axis = axis < 0 ? axis + rank : axis;
  if (axis == 1 && rank >= 2)
    {
      onnx_out (c, 0, onnx_emit (c, "flatten", ONNX_IN (x), NULL));
      return;
    }
  for (int i = 0; i < rank; i++)
    shape.dim[i >= axis] = loom_dim_mul (shape.dim[i >= axis], x->type.shape.dim[i]);
  onnx_out (c, 0, onnx_reshape (c, x, &shape));
}

static void
map_transpose (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 order[LOOM_SHAPE_MAX_RANK];
  int rank = x->type.shape.rank;
  guint n = onnx_attr_ints (c, "perm", order, LOOM_SHAPE_MAX_RANK);

  for (int i = 0; n == 0 && i < rank; i++)
    order[i] = rank - 1 - i;
  if (n != 0 && (int)n != rank)
    onnx_fail (c, "its perm does not name each dimension once.");
  onnx_out (c, 0, onnx_permute (c, x, order));
}

static void
map_squeeze (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  gboolean present;
  guint n = onnx_ints (c, "axes", 1, axes, LOOM_SHAPE_MAX_RANK, &present);

  onnx_out (c, 0, onnx_emit (c, "squeeze", ONNX_IN (x), "dim", n > 0 ? onnx_list (c, n, axes) : NULL, NULL));
}

static void
map_unsqueeze (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  gboolean present;
  guint n = onnx_ints (c, "axes", 1, axes, LOOM_SHAPE_MAX_RANK, &present);

  onnx_out (c, 0, n == 0 ? x : onnx_emit (c, "unsqueeze", ONNX_IN (x), "dim", onnx_list (c, n, axes), NULL));
}

static void
map_concat (OnnxCtx *c)
{
  guint n = onnx_n_inputs (c);
  g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, n + 1);

  for (guint i = 0; i < n; i++)
    in[i] = onnx_in (c, i);
  onnx_batch_spread (c, n, in, (int)onnx_attr_int (c, "axis", 1));
  onnx_out (c, 0, onnx_emit (c, "concat", n, in, "dim", int_text (c, onnx_attr_int (c, "axis", 1)), NULL));
}

/* Sizes are specified, or the parts are equal (since opset 18 the last one may be shorter). */
static void
map_split (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (x->type.shape.rank, 1));
  gint64 sizes[64];
  gboolean present;
  guint n = onnx_ints (c, "split", 1, sizes, G_N_ELEMENTS (sizes), &present), n_out = (guint)c->node->n_output;

  if (n == 0 && !c->failed)
    {
      gint64 size = onnx_dim (c, x, axis), parts = onnx_attr_int (c, "num_outputs", n_out);
      if (parts < 1 || parts > (gint64)G_N_ELEMENTS (sizes))
        onnx_fail (c, "it has too many parts.");
      gint64 part = parts > 0 ? (size + parts - 1) / parts : 0;
      for (n = 0; n < parts && !c->failed; n++)
        sizes[n] = MAX (0, MIN (part, size - part * n));
    }
  if (n < n_out)
    onnx_fail (c, "it has more outputs than parts.");
  y = onnx_emit (c, "split", ONNX_IN (x), "sections", onnx_list (c, n, sizes), "dim", onnx_text (c, "%d", axis), NULL);
  for (guint i = 0; i < n_out; i++)
    onnx_out (c, i, i == 0 ? y : onnx_sibling (c, y, onnx_text (c, "%u", i)));
}

/* x from `start` to a dynamic size along an axis: a table of positions that is cut to the length of a sequence. The
 * elements are selected by index, whose number is known only in a step. */
static const OnnxWire *
slice_to_size (OnnxCtx *c, const OnnxWire *x, int axis, gint64 start, LoomDim end)
{
  const OnnxWire *index;

  if (start == 0 && loom_dim_equal (x->type.shape.dim[axis], end))
    return x;
  index = onnx_count (c, end);
  if (start > 0)
    index = onnx_slice (c, index, 0, start, G_MAXINT32, 1);
  return onnx_emit (c, "index_select", ONNX_IN (x, index), "dim", onnx_text (c, "%d", axis), NULL);
}

static void
map_slice (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 start[8], end[8], axes[8], step[8];
  gboolean present, has_axes, has_steps;
  guint n = onnx_ints (c, "starts", 1, start, 8, &present), m = onnx_sizes (c, "ends", 2, end, 8, &present);
  guint n_axes = onnx_ints (c, "axes", 3, axes, 8, &has_axes);
  guint n_steps = onnx_ints (c, "steps", 4, step, 8, &has_steps);
  gint64 dims[8], from[8], to[8], by[8];
  guint k = 0;

  if (n != m || (has_axes && n_axes != n) || (has_steps && n_steps != n) || n > 8)
    onnx_fail (c, "its starts, ends, axes and steps have different lengths.");
  for (guint i = 0; i < n && !c->failed; i++)
    {
      int axis = onnx_axis (c, has_axes ? axes[i] : (gint64)i, MAX (x->type.shape.rank, 1));
      gint64 s = has_steps ? step[i] : 1;
      LoomDim size;

      if (onnx_dynamic_dim (c->all, end[i], &size))
        {
          if (start[i] < 0 || s != 1)
            onnx_fail (c, "it ends at a dynamic size, which is supported only for a start of 0 or more and step 1. Fix "
                          "the size.");
          x = slice_to_size (c, x, axis, start[i], size);
          continue;
        }
      /* The smallest and largest number of the type mean "to the end". */
      if (s == 1 && start[i] == 0 && end[i] > G_MAXINT32)
        continue;
      dims[k] = axis;
      from[k] = CLAMP (start[i], -G_MAXINT32, G_MAXINT32);
      to[k] = CLAMP (end[i], -G_MAXINT32, G_MAXINT32);
      by[k++] = s;
    }
  onnx_out (c, 0,
            k == 0 ? x
                   : onnx_emit (c, "slice", ONNX_IN (x), "dim", onnx_list (c, k, dims), "start", onnx_list (c, k, from),
                                "end", onnx_list (c, k, to), "step", onnx_list (c, k, by), NULL));
}

/* "edge" is PyTorch's "replicate", "wrap" its "circular". Negative numbers crop, as in PyTorch. */
static void
map_pad (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 pads[2 * LOOM_SHAPE_MAX_RANK], axes[LOOM_SHAPE_MAX_RANK], begin[LOOM_SHAPE_MAX_RANK] = { 0 },
                                                                   end[LOOM_SHAPE_MAX_RANK] = { 0 };
  gboolean present, has_axes;
  int rank = x->type.shape.rank;
  guint n = onnx_ints (c, onnx_has_attr (c, "paddings") ? "paddings" : "pads", 1, pads, G_N_ELEMENTS (pads), &present);
  guint k = onnx_ints (c, "axes", 3, axes, LOOM_SHAPE_MAX_RANK, &has_axes);
  const char *mode = onnx_attr_word (c, "mode", "constant", "reflect", "edge", "wrap");
  const LoomTensor *t = onnx_has (c, 2) ? onnx_const (c, 2, "constant_value") : NULL;
  double value = t != NULL && t->count == 1 ? loom_tensor_get (t, 0) : onnx_attr_float (c, "value", 0);

  k = has_axes ? k : (guint)rank;
  if (n != 2 * k)
    onnx_fail (c, "its pads do not fit %d dimensions.", rank);
  for (guint i = 0; i < k && !c->failed; i++)
    {
      int axis = has_axes ? onnx_axis (c, axes[i], rank) : (int)i;
      begin[axis] = pads[i];
      end[axis] = pads[i + k];
    }
  mode = g_str_equal (mode, "edge") ? "replicate" : g_str_equal (mode, "wrap") ? "circular" : mode;
  if (!g_str_equal (mode, "constant") && !c->failed)
    {
      /* These modes read the padding of the dimension before, so each dimension is a separate node. */
      for (int i = rank - 1; i >= 0; i--)
        {
          gint64 b[LOOM_SHAPE_MAX_RANK] = { 0 }, e[LOOM_SHAPE_MAX_RANK] = { 0 };
          b[i] = begin[i];
          e[i] = end[i];
          x = onnx_pad (c, x, b, e, mode, NULL);
        }
      onnx_out (c, 0, x);
      return;
    }
  if (isnan (value))
    onnx_fail (c, "it pads with NaN, which is not supported.");
  if (!isinf (value))
    {
      onnx_out (c, 0, onnx_pad (c, x, begin, end, NULL, onnx_number (c, value)));
      return;
    }
  /* Infinity has no notation in a graph. Zeros around ones are padded, and their logarithm is -infinity around 0. */
  const OnnxWire *ones = onnx_emit (c, "constant", 0, NULL, "value", "1", "shape", onnx_dims (c, &x->type.shape), NULL);
  const OnnxWire *rim = onnx_unary (c, "log", onnx_pad (c, ones, begin, end, NULL, "0"));
  onnx_out (c, 0, onnx_binary (c, value < 0 ? "add" : "sub", onnx_pad (c, x, begin, end, NULL, "0"), rim));
}

/* Repeats a dimension `times` times, a dynamic size. */
static const OnnxWire *
tile_dynamic (OnnxCtx *c, const OnnxWire *x, int dim, LoomDim times)
{
  LoomShape whole = x->type.shape, shape;
  const OnnxWire *y = x->type.shape.rank < LOOM_SHAPE_MAX_RANK ? onnx_unsqueeze (c, x, dim) : x;

  if (y == x)
    {
      onnx_fail (c, "it repeats one of %d dimensions a dynamic number of times.", LOOM_SHAPE_MAX_RANK);
      return x;
    }
  shape = y->type.shape;
  shape.dim[dim] = times;
  whole.dim[dim] = loom_dim_mul (times, whole.dim[dim]);
  return onnx_reshape (c, onnx_emit (c, "expand", ONNX_IN (y), "shape", onnx_dims (c, &shape), NULL), &whole);
}

static void
map_tile (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 times[LOOM_SHAPE_MAX_RANK];
  gboolean present;

  if (onnx_opset (c) < 6)
    {
      const LoomTensor *t = onnx_const (c, 1, "tiles"), *axis = onnx_const (c, 2, "axis");
      for (int i = 0; i < x->type.shape.rank; i++)
        times[i] = t != NULL && axis != NULL && onnx_tensor_int (axis, 0) == i ? onnx_tensor_int (t, 0) : 1;
      onnx_out (c, 0,
                onnx_emit (c, "tile", ONNX_IN (x), "dims", onnx_list (c, (guint)x->type.shape.rank, times), NULL));
      return;
    }
  guint n = onnx_sizes (c, "repeats", 1, times, LOOM_SHAPE_MAX_RANK, &present);
  gboolean repeats = FALSE;
  for (guint i = 0; i < n && !c->failed; i++)
    {
      const LoomDim size = onnx_size (c, times[i]);

      if (!loom_dim_is_known (size) && (int)i < x->type.shape.rank)
        {
          x = tile_dynamic (c, x, (int)i, size);
          times[i] = 1;
        }
      repeats = repeats || times[i] != 1;
    }
  onnx_out (c, 0, !repeats ? x : onnx_emit (c, "tile", ONNX_IN (x), "dims", onnx_list (c, n, times), NULL));
}

/* ONNX broadcasts in both directions: a requested size of 1 keeps the existing one. */
static void
map_expand (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  gboolean present;
  guint n = onnx_sizes (c, "shape", 1, dims, LOOM_SHAPE_MAX_RANK, &present);
  LoomShape shape = { .rank = (int)n }, out;

  for (guint i = 0; i < n; i++)
    shape.dim[i] = onnx_size (c, dims[i]);

  if (!loom_shape_broadcast (&x->type.shape, &shape, &out))
    onnx_fail (c, "its input does not broadcast to that shape.");
  else
    onnx_out (c, 0,
              loom_shape_equal (&out, &x->type.shape)
                  ? x
                  : onnx_emit (c, "expand", ONNX_IN (x), "shape", onnx_dims (c, &out), NULL));
}

/* DCR: [N, b, b, C/b², H, W] → [N, C/b², H, b, W, b]. CRD has the channel first, as PyTorch's pixel_shuffle. */
static void
map_depth_to_space (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 b = onnx_attr_int (c, "blocksize", 1), channels = onnx_dim (c, x, 1);
  const LoomDim *in = x->type.shape.dim;

  if (c->failed || x->type.shape.rank != 4 || b < 1 || b > 1024 || channels % (b * b) != 0)
    {
      onnx_fail (c, "its block size does not fit %" G_GINT64_FORMAT " channels.", channels);
      return;
    }
  if (g_str_equal (onnx_attr_word (c, "mode", "DCR", "CRD"), "CRD"))
    {
      onnx_out (c, 0, onnx_emit (c, "pixel_shuffle", ONNX_IN (x), "upscale_factor", int_text (c, b), NULL));
      return;
    }
  LoomDim k = loom_dim (b), less = loom_dim (channels / (b * b));
  LoomShape six = { .rank = 6, .dim = { in[0], k, k, less, in[2], in[3] } };
  LoomShape four = { .rank = 4, .dim = { in[0], less, loom_dim_mul (in[2], k), loom_dim_mul (in[3], k) } };
  static const gint64 order[] = { 0, 3, 4, 1, 5, 2 };
  onnx_out (c, 0, onnx_reshape (c, onnx_permute (c, onnx_reshape (c, x, &six), order), &four));
}

static void
map_space_to_depth (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 b = onnx_attr_int (c, "blocksize", 1);
  const LoomDim *in = x->type.shape.dim;
  LoomDim k = loom_dim (CLAMP (b, 1, 1024)), h, w;

  if (c->failed || x->type.shape.rank != 4 || b != k.coef || !loom_dim_div (in[2], k, &h)
      || !loom_dim_div (in[3], k, &w))
    {
      onnx_fail (c, "its block size does not fit its image.");
      return;
    }
  LoomShape six = { .rank = 6, .dim = { in[0], in[1], h, k, w, k } };
  LoomShape four = { .rank = 4, .dim = { in[0], loom_dim_mul (in[1], loom_dim (b * b)), h, w } };
  static const gint64 block_first[] = { 0, 3, 5, 1, 2, 4 }, channel_first[] = { 0, 1, 3, 5, 2, 4 };
  const gint64 *order = g_str_equal (onnx_attr_word (c, "mode", "DCR", "CRD"), "CRD") ? channel_first : block_first;

  onnx_out (c, 0, onnx_reshape (c, onnx_permute (c, onnx_reshape (c, x, &six), order), &four));
}

static void
map_trilu (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const LoomTensor *k = onnx_has (c, 1) ? onnx_const (c, 1, "k") : NULL;

  onnx_out (c, 0,
            onnx_emit (c, onnx_attr_int (c, "upper", 1) ? "triu" : "tril", ONNX_IN (x), "diagonal",
                       int_text (c, k != NULL && k->count == 1 ? onnx_tensor_int (k, 0) : 0), NULL));
}

/* 1 where column - row is k: compares column numbers with row numbers. */
static void
map_eye_like (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 rows = onnx_dim (c, x, 0), columns = onnx_dim (c, x, 1), k = onnx_attr_int (c, "k", 0);
  LoomShape down = loom_shape (2, (gint64[]){ rows, 1 });
  LoomDType dtype = x->type.dtype;

  k = CLAMP (k, -G_MAXINT32, G_MAXINT32);
  if (onnx_has_attr (c, "dtype") && !onnx_wire_dtype ((int)onnx_attr_int (c, "dtype", 1), &dtype))
    onnx_fail (c, "its output type is %s, which graphs do not have.",
               onnx_type_name ((int)onnx_attr_int (c, "dtype", 1)));
  const OnnxWire *row = onnx_emit (c, "arange", 0, NULL, "start", int_text (c, k), "end", int_text (c, rows + k), NULL);
  const OnnxWire *column = onnx_emit (c, "arange", 0, NULL, "end", int_text (c, columns), NULL);
  onnx_out (c, 0, onnx_cast (c, onnx_binary (c, "eq", onnx_reshape (c, row, &down), column), dtype));
}

static void
map_range (OnnxCtx *c)
{
  const LoomTensor *t[3] = { onnx_const (c, 0, "start"), onnx_const (c, 1, "limit"), onnx_const (c, 2, "delta") };

  if (t[0] == NULL || t[1] == NULL || t[2] == NULL || t[0]->count != 1 || t[1]->count != 1 || t[2]->count != 1)
    return;
  LoomDType dtype = onnx_on_wire (t[0]->dtype);
  LoomDim size;
  if (t[1]->dtype == LOOM_I64 && onnx_dynamic_dim (c->all, onnx_tensor_int (t[1], 0), &size)
      && loom_tensor_get (t[0], 0) == 0 && loom_tensor_get (t[2], 0) == 1)
    {
      onnx_out (c, 0, onnx_count (c, size));
      return;
    }
  for (guint i = 0; i < 3; i++)
    if (onnx_has_dynamic (c->all, t[i]))
      onnx_fail (c, "its range has a dynamic size, which is supported only from 0 with step 1.");
  onnx_out (c, 0,
            onnx_emit (c, "arange", 0, NULL, "start", onnx_number (c, loom_tensor_get (t[0], 0)), "end",
                       onnx_number (c, loom_tensor_get (t[1], 0)), "step", onnx_number (c, loom_tensor_get (t[2], 0)),
                       "dtype", loom_dtype_name (dtype), NULL));
}

/* Reached only if folding has no result. */
static void
map_shape (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);

  LoomTensor *t = c->failed || x->type.shape.rank < 0 ? NULL : onnx_fold (c->all, c->node, TRUE, 0);

  if (t != NULL)
    onnx_out_tensor (c, 0, t);
  else
    onnx_fail (c, "a size of its input is known only when the model runs.");
}

/* A constant node, of a size that folding does not handle. */
static void
map_constant (OnnxCtx *c)
{
  const Onnx__AttributeProto *a = onnx_attr (c, "value");
  g_autoptr (GError) error = NULL;
  LoomTensor *t = a != NULL && a->t != NULL ? onnx_tensor_read (c->all->external, a->t, "its value", &error) : NULL;

  if (t != NULL)
    onnx_out_tensor (c, 0, t);
  else
    onnx_fail (c, "%s", error ? error->message : "its value is text, a sparse tensor or missing.");
}

static void
map_constant_of_shape (OnnxCtx *c)
{
  const Onnx__AttributeProto *a = onnx_attr (c, "value");
  g_autoptr (LoomTensor) t
      = a != NULL && a->t != NULL ? onnx_tensor_read (c->all->external, a->t, "its value", NULL) : NULL;
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  gboolean present;
  guint n = onnx_sizes (c, "input", 0, dims, LOOM_SHAPE_MAX_RANK, &present);
  LoomShape shape = { .rank = (int)n };
  LoomDType dtype = t != NULL ? onnx_on_wire (t->dtype) : LOOM_F32;

  for (guint i = 0; i < n; i++)
    shape.dim[i] = onnx_size (c, dims[i]);
  onnx_out (c, 0,
            onnx_emit (c, "constant", 0, NULL, "value",
                       onnx_number (c, t != NULL && t->count == 1 ? loom_tensor_get (t, 0) : 0), "shape",
                       onnx_dims (c, &shape), "dtype", loom_dtype_name (dtype), NULL));
}

/* A longer axis is cropped on both sides, a shorter one padded on both. */
static void
map_center_crop_pad (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 want[LOOM_SHAPE_MAX_RANK], axes[LOOM_SHAPE_MAX_RANK], begin[LOOM_SHAPE_MAX_RANK] = { 0 },
                                                               end[LOOM_SHAPE_MAX_RANK] = { 0 };
  gboolean present;
  guint n = onnx_ints (c, "shape", 1, want, LOOM_SHAPE_MAX_RANK, &present);
  gboolean has_axes = onnx_has_attr (c, "axes");

  onnx_attr_ints (c, "axes", axes, LOOM_SHAPE_MAX_RANK);
  for (guint i = 0; i < n && !c->failed; i++)
    {
      int axis = onnx_axis (c, has_axes ? axes[i] : (gint64)i, x->type.shape.rank);
      gint64 size = onnx_dim (c, x, axis);
      if (want[i] < 0)
        {
          onnx_fail (c, "its shape is not valid.");
          return;
        }
      if (size > want[i])
        x = onnx_slice (c, x, axis, (size - want[i]) / 2, (size - want[i]) / 2 + want[i], 1);
      begin[axis] = MAX (0, want[i] - size) / 2;
      end[axis] = MAX (0, want[i] - size) - begin[axis];
    }
  onnx_out (c, 0, onnx_pad (c, x, begin, end, "constant", "0"));
}

const OnnxMap onnx_map_shape[] = {
  { "Reshape", "reshape", map_reshape },
  { "Flatten", "flatten", map_flatten },
  { "Transpose", "permute", map_transpose },
  { "Squeeze", "squeeze", map_squeeze },
  { "Unsqueeze", "unsqueeze", map_unsqueeze },
  { "Concat", "concat", map_concat },
  { "Split", "split", map_split },
  { "Slice", "slice", map_slice },
  { "Pad", "pad", map_pad },
  { "Tile", "tile", map_tile },
  { "Expand", "expand", map_expand },
  { "DepthToSpace", "permute", map_depth_to_space },
  { "SpaceToDepth", "permute", map_space_to_depth },
  { "Trilu", "triu", map_trilu },
  { "EyeLike", "eq", map_eye_like },
  { "Range", "arange", map_range },
  { "Shape", NULL, map_shape },
  { "Size", NULL, map_shape },
  { "Constant", "constant", map_constant },
  { "ConstantOfShape", "constant", map_constant_of_shape },
  { "CenterCropPad", "pad", map_center_crop_pad },
  { NULL },
};
