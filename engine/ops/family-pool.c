/* Lowers pooling over one, two and three dimensions, with windows of a given size or a given number of windows.
 *
 * All of it uses the primitives over images. A sequence is an image of one row. The maximum of a window of a volume
 * is the maximum over depth of the maxima over rows and columns, and the first of equal values still wins; a mean is
 * a mean of means, because the number of averaged elements is a product over the dimensions. Neither step copies:
 * channels and depth are adjacent in memory, and so are rows and columns. */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

const LoomPortSpec loom_op_port_indices[] = {
  { "out", "The maximum of each window." },
  { "indices", "The index of each maximum in its channel, in row-major order, i64.", LOOM_PORT_OPTIONAL },
  { NULL },
};

/* ---- windows of a given size ------------------------------------------ */

static gboolean
has_param (const LoomInfer *ctx, const char *name)
{
  const LoomParamSpec *spec = loom_infer_op (ctx)->params;

  while (spec->name != NULL && !g_str_equal (spec->name, name))
    spec++;
  return spec->name != NULL;
}

static LoomWindows
windows_of (const LoomInfer *ctx)
{
  LoomWindows w = { .n = loom_op_space_of (ctx, "kernel_size"), .dilation = { 1, 1, 1 } };

  loom_infer_ints (ctx, "kernel_size", w.kernel, LOOM_MAX_SPACE);
  loom_infer_ints (ctx, loom_infer_is_set (ctx, "stride") ? "stride" : "kernel_size", w.stride, LOOM_MAX_SPACE);
  if (has_param (ctx, "padding"))
    loom_infer_ints (ctx, "padding", w.front, LOOM_MAX_SPACE);
  memcpy (w.back, w.front, sizeof w.back);
  return w;
}

static LoomWindows
max_windows_of (const LoomInfer *ctx)
{
  LoomWindows w = windows_of (ctx);

  loom_infer_ints (ctx, "dilation", w.dilation, LOOM_MAX_SPACE);
  return w;
}

void
loom_op_infer_pool (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomWindows w = has_param (ctx, "dilation") ? max_windows_of (ctx) : windows_of (ctx);
  LoomShape shape = x->shape;

  if (!loom_op_space (ctx, w.n, "Put a reshape before it.", NULL))
    return;
  for (int i = 0; i < w.n; i++)
    {
      if (w.front[i] > w.kernel[i] / 2)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding",
                            "Padding %" PRId64 " is more than half of the window size %" PRId64
                            ", so some windows would contain only padding.",
                            w.front[i], w.kernel[i]);
          return;
        }
    }
  if (!loom_op_windows (ctx, &w, loom_infer_bool (ctx, "ceil_mode"), "Use a smaller window or fewer poolings.", &shape))
    return;
  loom_infer_output (ctx, 0, x->dtype, &shape);
  if (loom_infer_op (ctx)->outputs == loom_op_port_indices)
    loom_infer_output (ctx, 1, LOOM_I64, &shape);
}

/* ---- lowering --------------------------------------------------------- */

/* Windows over rows and columns of images; k counts dimensions of w, and -1 is a dimension of size 1. */
static LoomPool2dTo
attrs_of (const LoomWindows *w, int rows, int columns, const gint64 *size)
{
  const int which[2] = { rows, columns };
  LoomPool2dTo a = { .kernel = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } }, .size = { 1, 1 } };

  for (int k = 0; k < 2; k++)
    if (which[k] >= 0)
      {
        a.kernel.kernel[k] = w->kernel[which[k]];
        a.kernel.stride[k] = w->stride[which[k]];
        a.kernel.pad[k] = w->front[which[k]];
        a.kernel.dilation[k] = w->dilation[which[k]];
        a.size[k] = size[which[k]];
      }
  return a;
}

static LoomValue
pool (LoomProgram *p, const char *prim, const LoomPool2dTo *a, LoomValue x, LoomValue *indices)
{
  LoomValue out[2] = { 0 };

  loom_emit (p, loom_prim (prim), a, 1, &x, out);
  if (indices != NULL)
    *indices = out[1];
  return out[0];
}

/* x [N,C,D,H,W]: first the last two dimensions as images of C·D channels, then depth as rows of H·W columns. */
static LoomValue
pool_volume (LoomProgram *p, const char *prim, LoomPool2dTo image, LoomPool2dTo depth, LoomValue x)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  gint64 n = d.dim[0], c = d.dim[1], area = image.size[0] * image.size[1];

  x = loom_reshape (p, x, 4, (gint64[]){ n, c * d.dim[2], d.dim[3], d.dim[4] });
  x = loom_reshape (p, pool (p, prim, &image, x, NULL), 4, (gint64[]){ n, c, d.dim[2], area });
  depth.size[1] = area;
  return loom_reshape (p, pool (p, prim, &depth, x, NULL), 5,
                       (gint64[]){ n, c, depth.size[0], image.size[0], image.size[1] });
}

/* Converts the index of a maximum in its window (row·kernel + column) to one in its channel. Its row in the window
 * is the number of rows that begin at or before it. */
static LoomValue
indices_of (LoomProgram *p, const LoomPool2dAttrs *a, LoomValue indices, gint64 width)
{
  LoomTensorDesc d = loom_value_info (p, indices)->desc;
  gint64 by_row = a->dilation[0] * width - a->kernel[1] * a->dilation[1];
  LoomValue place = loom_cast (p, indices, LOOM_I64), index = place;

  if (a->dilation[1] != 1)
    index = loom_binary (p, LOOM_SCALAR_MUL, place, loom_const (p, LOOM_I64, (double)a->dilation[1]));
  for (gint64 r = 1; r < a->kernel[0]; r++)
    {
      LoomValue begun = loom_binary (p, LOOM_SCALAR_GE, place, loom_const (p, LOOM_I64, (double)(r * a->kernel[1])));

      begun
          = loom_binary (p, LOOM_SCALAR_MUL, loom_cast (p, begun, LOOM_I64), loom_const (p, LOOM_I64, (double)by_row));
      index = loom_binary (p, LOOM_SCALAR_ADD, index, begun);
    }
  for (int k = 0; k < 2; k++)
    {
      gint64 step = k == 0 ? width : 1;
      LoomIotaTo iota
          = { .kernel = { .axis = 2 + k, .start = -(double)(a->pad[k] * step), .step = (double)(a->stride[k] * step) },
              .dtype = LOOM_I64,
              .to = { .rank = 4, .dim = { 1, 1, 1, 1 } } };

      iota.to.dim[2 + k] = d.dim[2 + k];
      index = loom_binary (p, LOOM_SCALAR_ADD, index, loom_emit (p, loom_prim ("iota"), &iota, 0, NULL, NULL));
    }
  return index;
}

void
loom_op_lower_max_pool (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomWindows w = max_windows_of (loom_lower_infer (ctx));
  LoomValue x = loom_lower_input (ctx, 0), y, indices;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomPool2dTo a;

  if (w.n == 3)
    {
      loom_lower_output (
          ctx, 0, pool_volume (p, "max_pool2d", attrs_of (&w, 1, 2, dims + 2), attrs_of (&w, 0, -1, dims + 2), x));
      return;
    }
  x = loom_op_as_images (p, x);
  a = attrs_of (&w, w.n - 2, w.n - 1, dims + 2);
  y = pool (p, "max_pool2d", &a, x, &indices);
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
  loom_lower_output (ctx, 1,
                     loom_reshape (p, indices_of (p, &a.kernel, indices, loom_op_desc (ctx, x).dim[3]), rank, dims));
}

/* The mean of each window of x. */
static LoomValue
averages (LoomLower *ctx, LoomValue x)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomWindows w = windows_of (infer);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  gboolean padded = !has_param (infer, "count_include_pad") || loom_infer_bool (infer, "count_include_pad");
  LoomPool2dTo a = attrs_of (&w, w.n - 2, w.n - 1, dims + 2);

  a.kernel.count_include_pad = padded;
  if (has_param (infer, "divisor_override") && loom_infer_is_set (infer, "divisor_override"))
    a.kernel.divisor = loom_infer_int (infer, "divisor_override");
  if (w.n == 3)
    {
      LoomPool2dTo depth = attrs_of (&w, 0, -1, dims + 2);

      depth.kernel.count_include_pad = padded;
      depth.kernel.divisor = a.kernel.divisor != 0 ? 1 : 0;
      x = pool_volume (p, "avg_pool2d", a, depth, x);
    }
  else
    x = pool (p, "avg_pool2d", &a, loom_op_as_images (p, x), NULL);
  return loom_reshape (p, x, rank, dims);
}

void
loom_op_lower_avg_pool (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, averages (ctx, loom_lower_input (ctx, 0)));
}

/* As in PyTorch, the mean of xᵖ times the size of the window: with ceil_mode a window that exceeds the input is scaled
 * up to its whole size. */
void
loom_op_lower_lp_pool (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomWindows w = windows_of (infer);
  LoomValue x = loom_lower_input (ctx, 0);
  double power = loom_infer_float (infer, "norm_type"), size = 1;

  for (int i = 0; i < w.n; i++)
    size *= (double)w.kernel[i];
  x = averages (ctx, loom_binary (p, LOOM_SCALAR_POW, x, loom_op_const_like (ctx, x, power)));
  x = loom_binary (p, LOOM_SCALAR_MUL, x, loom_op_const_like (ctx, x, size));
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_POW, x, loom_op_const_like (ctx, x, 1 / power)));
}

double
loom_op_pool_flops (const LoomInfer *ctx)
{
  LoomWindows w = windows_of (ctx);
  double places = 1;

  for (int i = 0; i < w.n; i++)
    places *= (double)w.kernel[i];
  return loom_op_output_count (ctx, 0) * places;
}

char *
loom_op_pool_summary (const LoomInfer *ctx)
{
  LoomWindows w = windows_of (ctx);
  g_autofree char *kernel = loom_op_times (w.n, w.kernel);

  return g_strdup_printf ("%s · stride %" G_GINT64_FORMAT, kernel, w.stride[0]);
}

/* ---- a given number of windows -------------------------------------------- */

void
loom_op_infer_adaptive (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int n = loom_op_space_of (ctx, "output_size");
  LoomShape shape = x->shape;
  gint64 size[LOOM_MAX_SPACE];

  if (!loom_op_space (ctx, n, "Put a reshape before it.", NULL))
    return;
  loom_infer_ints (ctx, "output_size", size, LOOM_MAX_SPACE);
  for (int i = 0; i < n; i++)
    {
      if (loom_dim_is_known (x->shape.dim[2 + i]) && x->shape.dim[2 + i].coef == 0)
        {
          g_autofree char *text = loom_shape_to_string (&x->shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input", "%s needs a non-empty input, but got %s.",
                            loom_infer_op (ctx)->name, text);
          return;
        }
      shape.dim[2 + i] = loom_dim (size[i]);
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* One axis (2 or 3) of images in windows from ⌊i·n/size⌋ to ⌈(i + 1)·n/size⌉, which overlap and differ in size if n
 * is not a multiple: each is sliced, reduced, and concatenated. */
static LoomValue
adapt_axis (LoomProgram *p, const char *prim, LoomValue x, int axis, gint64 size)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;
  gint64 n = d.dim[axis], start[4] = { 0 };
  g_autofree LoomValue *part = g_new (LoomValue, size);

  for (gint64 i = 0; i < size; i++)
    {
      gint64 end = ((i + 1) * n + size - 1) / size;
      LoomPool2dTo a = { .kernel = { .kernel = { 1, 1 }, .stride = { 1, 1 }, .dilation = { 1, 1 } } };

      start[axis] = i * n / size;
      d.dim[axis] = end - start[axis];
      a.kernel.kernel[axis - 2] = d.dim[axis];
      a.size[axis - 2] = 1;
      a.size[3 - axis] = d.dim[5 - axis];
      part[i] = loom_slice (p, x, start, NULL, d.dim);
      if (d.dim[axis] > 1)
        part[i] = pool (p, prim, &a, part[i], NULL);
    }
  return loom_concat (p, (guint)size, part, axis);
}

/* Columns before rows, so that of equal values the first in row-major order wins. */
static LoomValue
adapt_images (LoomProgram *p, const char *prim, LoomValue x, const gint64 *size)
{
  LoomTensorDesc d = loom_value_info (p, x)->desc;

  if (d.dim[2] % size[0] == 0 && d.dim[3] % size[1] == 0)
    {
      LoomWindows w = { .n = 2, .dilation = { 1, 1 } };
      LoomPool2dTo a;

      for (int k = 0; k < 2; k++)
        w.kernel[k] = w.stride[k] = d.dim[2 + k] / size[k];
      a = attrs_of (&w, 0, 1, size);
      return pool (p, prim, &a, x, NULL);
    }
  return adapt_axis (p, prim, adapt_axis (p, prim, x, 3, size[1]), 2, size[0]);
}

/* Of a volume first rows and columns as images of C·D channels, then depth as rows of H·W columns. */
static void
lower_adaptive (LoomLower *ctx, const char *prim)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (rank == 5)
    {
      gint64 area = dims[3] * dims[4];

      x = loom_reshape (p, x, 4, (gint64[]){ d.dim[0], d.dim[1] * d.dim[2], d.dim[3], d.dim[4] });
      x = loom_reshape (p, adapt_images (p, prim, x, dims + 3), 4, (gint64[]){ d.dim[0], d.dim[1], d.dim[2], area });
      x = adapt_images (p, prim, x, (gint64[]){ dims[2], area });
    }
  else
    x = adapt_images (p, prim, loom_op_as_images (p, x), (gint64[]){ rank == 4 ? dims[2] : 1, dims[rank - 1] });
  loom_lower_output (ctx, 0, loom_reshape (p, x, rank, dims));
}

void
loom_op_lower_adaptive_max (LoomLower *ctx)
{
  lower_adaptive (ctx, "max_pool2d");
}

void
loom_op_lower_adaptive_avg (LoomLower *ctx)
{
  lower_adaptive (ctx, "avg_pool2d");
}

char *
loom_op_adaptive_summary (const LoomInfer *ctx)
{
  gint64 size[LOOM_MAX_SPACE];
  g_autofree char *text = NULL;

  loom_infer_ints (ctx, "output_size", size, LOOM_MAX_SPACE);
  text = loom_op_times (loom_op_space_of (ctx, "output_size"), size);
  return g_strdup_printf ("to %s", text);
}
