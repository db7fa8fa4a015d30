/* Imports pooling, and reads the windows that poolings share with convolutions. */
#include "engine/onnx/onnx-window.h"

#include <string.h>

/* ---- windows ---------------------------------------------------------- */

static void
read_or_one (OnnxCtx *c, const char *name, gint64 *values, int n)
{
  gint64 given[8];
  guint k = onnx_attr_ints (c, name, given, 8);

  for (int i = 0; i < n; i++)
    values[i] = k > (guint)i ? given[i] : 1;
}

const char *
onnx_auto_pad (OnnxCtx *c)
{
  return onnx_attr_word (c, "auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID");
}

gboolean
onnx_window_read (OnnxCtx *c, OnnxWindow *w, const OnnxWire *x, int n)
{
  gint64 pads[8] = { 0 };
  const char *mode = onnx_auto_pad (c);

  w->n = n;
  read_or_one (c, "strides", w->stride, n);
  read_or_one (c, "dilations", w->dilation, n);
  onnx_attr_ints (c, "pads", pads, 8);
  for (int i = 0; i < n; i++)
    {
      gboolean given = g_str_equal (mode, "NOTSET");
      w->begin[i] = given ? pads[i] : 0;
      w->end[i] = given ? pads[i + n] : 0;
      if (w->stride[i] < 1 || w->dilation[i] < 1 || w->kernel[i] < 1 || w->begin[i] < 0 || w->end[i] < 0
          || MAX (MAX (w->kernel[i], w->dilation[i]), w->stride[i]) > 1000000 || MAX (w->begin[i], w->end[i]) > 1000000)
        onnx_fail (c, "the sizes of its window are not valid.");
    }
  /* Enough padding that there is one result for each stride; an odd one is at the end or the beginning. */
  for (int i = 0; i < n && x != NULL && g_str_has_prefix (mode, "SAME") && !c->failed; i++)
    {
      gint64 in = onnx_dim (c, x, i + 2), out = (in + w->stride[i] - 1) / w->stride[i];
      gint64 total = MAX (0, (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - in);
      w->begin[i] = g_str_equal (mode, "SAME_UPPER") ? total / 2 : total - total / 2;
      w->end[i] = total - w->begin[i];
    }
  return !c->failed;
}

static gboolean
is_even (const OnnxWindow *w)
{
  for (int i = 0; i < w->n; i++)
    if (w->begin[i] != w->end[i])
      return FALSE;
  return TRUE;
}

const OnnxWire *
onnx_pad (OnnxCtx *c, const OnnxWire *x, const gint64 *begin, const gint64 *end, const char *mode, const char *value)
{
  gint64 pad[2 * LOOM_SHAPE_MAX_RANK];
  int rank = x->type.shape.rank, first = 0;

  while (first < rank && begin[first] == 0 && end[first] == 0)
    first++;
  if (first == rank)
    return x;
  for (int i = first; i < rank; i++)
    {
      pad[2 * (rank - 1 - i)] = begin[i];
      pad[2 * (rank - 1 - i) + 1] = end[i];
    }
  return onnx_emit (c, "pad", ONNX_IN (x), "pad", onnx_list (c, 2 * (guint)(rank - first), pad), "mode", mode, "value",
                    value, NULL);
}

const OnnxWire *
onnx_window_pad (OnnxCtx *c, OnnxWindow *w, const OnnxWire *x, const char *value)
{
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };

  if (is_even (w))
    return x;
  for (int i = 0; i < w->n; i++)
    {
      begin[i + 2] = w->begin[i];
      end[i + 2] = w->end[i];
      w->begin[i] = w->end[i] = 0;
    }
  return onnx_pad (c, x, begin, end, "constant", value);
}

const char *
onnx_window_padding (OnnxCtx *c, const OnnxWindow *w, gboolean as_text)
{
  gboolean same = TRUE;

  for (int i = 1; i < w->n; i++)
    same = same && w->begin[i] == w->begin[0];
  return onnx_list (c, same && as_text ? 1 : (guint)w->n, w->begin);
}

/* ---- poolings --------------------------------------------------------- */

/* PyTorch pads by at most half a window. */
static gboolean
is_small (const OnnxWindow *w)
{
  for (int i = 0; i < w->n; i++)
    if (2 * w->begin[i] > w->kernel[i])
      return FALSE;
  return TRUE;
}

static gboolean
start (OnnxCtx *c, OnnxWindow *w, const OnnxWire *x)
{
  int n = x->type.shape.rank - 2;
  gint64 kernel[8] = { 0 };

  if (c->failed)
    return FALSE;
  if (n < 1 || n > 3)
    {
      onnx_fail (c, "it has %d dimensions; only 1 to 3 after batch and channels are supported.", n);
      return FALSE;
    }
  onnx_attr_ints (c, "kernel_shape", kernel, 8);
  for (int i = 0; i < n; i++)
    w->kernel[i] = kernel[i];
  return onnx_window_read (c, w, x, n);
}

static const OnnxWire *
average (OnnxCtx *c, const OnnxWindow *w, const OnnxWire *x, gboolean count_pad)
{
  return onnx_emit (c, onnx_text (c, "avg_pool%dd", w->n), ONNX_IN (x), "kernel_size", onnx_list (c, w->n, w->kernel),
                    "stride", onnx_list (c, w->n, w->stride), "padding", onnx_window_padding (c, w, TRUE), "ceil_mode",
                    onnx_attr_int (c, "ceil_mode", 0) ? "true" : NULL, "count_include_pad", count_pad ? NULL : "false",
                    NULL);
}

/* The mean of windows with dilation, as a sum of slices: no pooling layer averages with gaps. x is padded already. */
static const OnnxWire *
dilated_average (OnnxCtx *c, const OnnxWindow *w, const OnnxWire *x)
{
  const OnnxWire *sum = NULL;
  gint64 taps = 1;

  for (int i = 0; i < w->n; i++)
    taps *= w->kernel[i];
  if (taps > 1024)
    {
      onnx_fail (c, "with dilations its window may have at most 1024 elements.");
      return x;
    }
  for (gint64 t = 0; t < taps; t++)
    {
      const OnnxWire *part = x;

      for (gint64 i = w->n - 1, rest = t; i >= 0 && !c->failed; rest /= w->kernel[i], i--)
        {
          gint64 size = onnx_dim (c, x, (int)i + 2), first = rest % w->kernel[i] * w->dilation[i];
          gint64 reach = (w->kernel[i] - 1) * w->dilation[i] + 1, room = MAX (size - reach, 0) / w->stride[i];

          part = onnx_slice (c, part, (int)i + 2, first, first + room * w->stride[i] + 1, w->stride[i]);
        }
      sum = sum == NULL ? part : onnx_binary (c, "add", sum, part);
    }
  return onnx_with_number (c, "div", sum, (double)taps);
}

/* The sides of a window's padding by dimension of x; with ceil_mode a last window may begin a stride later. */
static void
borders (OnnxCtx *c, const OnnxWindow *w, gint64 *begin, gint64 *end)
{
  gboolean ceil_mode = onnx_attr_int (c, "ceil_mode", 0) != 0;

  for (int i = 0; i < w->n; i++)
    {
      begin[i + 2] = w->begin[i];
      end[i + 2] = w->end[i] + (ceil_mode ? w->stride[i] - 1 : 0);
    }
}

/* (Σ|x|ᵖ)^(1/p); zeros around the input change no sum. */
static void
map_lp_pool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  double p = (double)onnx_attr_int (c, "p", 2), size = 1;
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };
  OnnxWindow w;

  if (!start (c, &w, x))
    return;
  if (p < 1 || p > 1000)
    {
      onnx_fail (c, "its exponent p is not between 1 and 1000.");
      return;
    }
  for (int i = 0; i < w.n; i++)
    size *= (double)w.kernel[i];
  borders (c, &w, begin, end);
  x = onnx_with_number (c, "pow", onnx_unary (c, "abs", onnx_pad (c, x, begin, end, "constant", "0")), p);
  y = onnx_with_number (c, "mul", dilated_average (c, &w, x), size);
  onnx_out (c, 0, onnx_with_number (c, "pow", y, 1 / p));
}

static void
map_global_lp_pool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  double p = (double)onnx_attr_int (c, "p", 2);
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  int n = x->type.shape.rank - 2;

  for (int i = 0; i < n; i++)
    axes[i] = i + 2;
  x = onnx_with_number (c, "pow", onnx_unary (c, "abs", x), p);
  onnx_out (c, 0, onnx_with_number (c, "pow", n > 0 ? onnx_reduce (c, "sum", x, (guint)n, axes, TRUE) : x, 1 / p));
}

static void
average_with_gaps (OnnxCtx *c, const OnnxWindow *w, const OnnxWire *x, gboolean count_pad)
{
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };
  LoomShape shape = x->type.shape;
  const OnnxWire *y, *ones;

  if (onnx_attr_int (c, "ceil_mode", 0) && count_pad)
    {
      onnx_fail (c, "ceil_mode with dilations and count_include_pad is not supported for averages.");
      return;
    }
  borders (c, w, begin, end);
  y = dilated_average (c, w, onnx_pad (c, x, begin, end, "constant", "0"));
  if (!count_pad && !c->failed)
    {
      shape.dim[0] = shape.dim[1] = loom_dim (1);
      ones = onnx_emit (c, "constant", 0, NULL, "value", "1", "shape", onnx_dims (c, &shape), NULL);
      y = onnx_binary (c, "div", y, dilated_average (c, w, onnx_pad (c, ones, begin, end, "constant", "0")));
    }
  onnx_out (c, 0, y);
}

/* If padding is uneven and does not count, the mean is divided by the fraction of the window that is inside: the same
 * pooling of ones. */
static void
map_average_pool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gboolean count_pad = onnx_attr_int (c, "count_include_pad", 0) != 0;
  OnnxWindow w;

  if (!start (c, &w, x))
    return;
  for (int i = 0; i < w.n; i++)
    if (w.dilation[i] != 1)
      {
        average_with_gaps (c, &w, x, count_pad);
        return;
      }
  if (is_even (&w) && is_small (&w))
    {
      gboolean none = TRUE;
      for (int i = 0; i < w.n; i++)
        none = none && w.begin[i] == 0;
      onnx_out (c, 0, average (c, &w, x, count_pad || none));
      return;
    }
  OnnxWindow inner = w;
  LoomShape shape = x->type.shape;
  shape.dim[0] = shape.dim[1] = loom_dim (1);
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };
  for (int i = 0; i < w.n; i++)
    {
      begin[i + 2] = w.begin[i];
      end[i + 2] = w.end[i];
      inner.begin[i] = inner.end[i] = 0;
    }
  const OnnxWire *y = average (c, &inner, onnx_pad (c, x, begin, end, "constant", "0"), TRUE);
  if (!count_pad)
    {
      const OnnxWire *ones = onnx_emit (c, "constant", 0, NULL, "value", "1", "shape", onnx_dims (c, &shape), NULL);
      y = onnx_binary (c, "div", y, average (c, &inner, onnx_pad (c, ones, begin, end, "constant", "0"), TRUE));
    }
  onnx_out (c, 0, y);
}

/* ONNX's indices refer to the whole tensor, PyTorch's to one plane; storage_order 1 counts columns first. */
static const OnnxWire *
global_indices (OnnxCtx *c, const OnnxWire *indices, const OnnxWire *x)
{
  LoomShape planes = { .rank = x->type.shape.rank };
  gint64 n = onnx_dim (c, x, 0) * onnx_dim (c, x, 1), size = 1;

  for (int i = 2; i < planes.rank; i++)
    {
      planes.dim[i] = loom_dim (1);
      size *= onnx_dim (c, x, i);
    }
  planes.dim[0] = x->type.shape.dim[0];
  planes.dim[1] = x->type.shape.dim[1];
  if (onnx_attr_int (c, "storage_order", 0) && planes.rank == 4)
    {
      gint64 height = onnx_dim (c, x, 2), width = onnx_dim (c, x, 3);
      const OnnxWire *row = onnx_emit (c, "div", ONNX_IN (indices, NULL), "other", onnx_number (c, (double)width),
                                       "rounding_mode", "floor", NULL);
      const OnnxWire *column = onnx_binary (c, "sub", indices, onnx_with_number (c, "mul", row, (double)width));
      indices = onnx_binary (c, "add", onnx_with_number (c, "mul", column, (double)height), row);
    }
  const OnnxWire *first = onnx_emit (c, "arange", 0, NULL, "end", onnx_text (c, "%" G_GINT64_FORMAT, n), NULL);
  first = onnx_with_number (c, "mul", onnx_reshape (c, first, &planes), (double)size);
  return onnx_binary (c, "add", indices, first);
}

static void
map_max_pool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *in, *y;
  OnnxWindow w;

  if (!start (c, &w, x))
    return;
  in = onnx_cast (c, x, loom_dtype_is_float (x->type.dtype) ? x->type.dtype : LOOM_F32);
  if (!is_even (&w) || !is_small (&w))
    {
      gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };
      for (int i = 0; i < w.n; i++)
        {
          begin[i + 2] = w.begin[i];
          end[i + 2] = w.end[i];
          w.begin[i] = w.end[i] = 0;
        }
      if (onnx_has_output (c, 1))
        onnx_fail (c, "its indices are not supported with uneven padding.");
      /* Less than any number of a model; infinity has no notation in a graph. */
      in = onnx_pad (c, in, begin, end, "constant", "-3e+38");
    }
  y = onnx_emit (c, onnx_text (c, "max_pool%dd", w.n), ONNX_IN (in), "kernel_size", onnx_list (c, w.n, w.kernel),
                 "stride", onnx_list (c, w.n, w.stride), "padding", onnx_window_padding (c, &w, TRUE), "dilation",
                 onnx_list (c, w.n, w.dilation), "ceil_mode", onnx_attr_int (c, "ceil_mode", 0) ? "true" : NULL, NULL);
  if (onnx_has_output (c, 1))
    onnx_out (c, 1, global_indices (c, onnx_sibling (c, y, "indices"), x));
  onnx_out (c, 0, onnx_cast (c, y, x->type.dtype));
}

static void
map_global_average_pool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  int n = x->type.shape.rank - 2;

  for (int i = 0; i < n; i++)
    axes[i] = i + 2;
  onnx_out (c, 0, n > 0 ? onnx_reduce (c, "mean", x, (guint)n, axes, TRUE) : x);
}

static void
map_global_max_pool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);

  for (int i = x->type.shape.rank - 1; i >= 2; i--)
    x = onnx_emit (c, "max", ONNX_IN (x), "dim", onnx_text (c, "%d", i), "keepdim", "true", NULL);
  onnx_out (c, 0, x);
}

/* Values go back to the indices that MaxPool returned; everything else is 0. */
static void
map_max_unpool (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *indices = onnx_in (c, 1);
  int n = x->type.shape.rank - 2;
  gint64 dims[8], kernel[8] = { 0 };
  guint n_dims = 0;
  OnnxWindow w;
  LoomShape shape = x->type.shape, flat = { .rank = 1 }, line = { .rank = 1 };

  if (c->failed || n < 1 || n > 3)
    {
      onnx_fail (c, "only 1 to 3 dimensions after batch and channels are supported.");
      return;
    }
  onnx_attr_ints (c, "kernel_shape", kernel, 8);
  for (int i = 0; i < n; i++)
    w.kernel[i] = kernel[i];
  if (!onnx_window_read (c, &w, NULL, n))
    return;
  for (int i = 0; i < n; i++)
    shape.dim[i + 2] = loom_dim ((onnx_dim (c, x, i + 2) - 1) * w.stride[i] + w.kernel[i] - w.begin[i] - w.end[i]);
  LoomShape own = shape;
  if (onnx_has (c, 2))
    {
      const LoomTensor *t = onnx_const (c, 2, "output_shape");
      for (gint64 i = 0; t != NULL && i < MIN (t->count, 8); i++)
        dims[n_dims++] = onnx_tensor_int (t, i);
      for (guint i = 0; i < n_dims && (int)n_dims == shape.rank; i++)
        shape.dim[i] = loom_dim (dims[i]);
    }
  flat.dim[0] = loom_shape_count (&x->type.shape);
  line.dim[0] = loom_shape_count (&own);
  /* Indices refer to the size that the windows imply; a larger output_shape has a border of zeros. */
  const OnnxWire *zeros = onnx_emit (c, "constant", 0, NULL, "value", "0", "shape", onnx_dims (c, &line), NULL);
  const OnnxWire *y = onnx_emit (
      c, "scatter", ONNX_IN (zeros, onnx_reshape (c, indices, &flat), onnx_reshape (c, x, &flat)), "dim", "0", NULL);
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0 }, end[LOOM_SHAPE_MAX_RANK] = { 0 };
  y = onnx_reshape (c, y, &own);
  for (int i = 0; i < shape.rank; i++)
    end[i] = shape.dim[i].coef - own.dim[i].coef;
  onnx_out (c, 0, onnx_pad (c, y, begin, end, "constant", "0"));
}

const OnnxMap onnx_map_pool[] = {
  { "AveragePool", "avg_pool2d", map_average_pool },
  { "MaxPool", "max_pool2d", map_max_pool },
  { "GlobalAveragePool", "mean", map_global_average_pool },
  { "GlobalMaxPool", "max", map_global_max_pool },
  { "LpPool", "lp_pool2d", map_lp_pool },
  { "GlobalLpPool", "sum", map_global_lp_pool },
  { "MaxUnpool", "scatter", map_max_unpool },
  { NULL },
};
