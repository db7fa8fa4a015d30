/* Imports Resize with all its modes.
 *
 * Calls that PyTorch's interpolate can express become an upsample. For the others (other coordinate modes, other
 * rounding, cubics that exclude the outside) each dimension is resized separately: nearest gathers by a constant index,
 * linear and cubic multiply by a constant matrix with a few numbers in each row. */
#include "engine/onnx/onnx-constant.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const char *where, *mode, *nearest;
  gboolean exclude_outside, antialias;
  double a; /* parameter of the cubic */
  double extrapolation;
} Ways;

typedef struct
{
  gint64 in, out;
  double scale, start, end; /* start and end of the region, as fractions of the input */
  gboolean dynamic;         /* a size without a number yet, such as the batch: it does not change */
  gboolean open;            /* a size without a number that is multiplied: in is 1, out the factor */
} Side;

/* A scale is a float, and 1.7 is not exactly one: a position is half-way between two pixels only in f32, in which
 * onnxruntime and ONNX's reference compute it. */
static double
unscaled (const Ways *w, const Side *s, double at)
{
  return g_str_equal (w->mode, "nearest") ? (double)((float)at / (float)s->scale) : at / s->scale;
}

/* The input coordinate of output i; formulas: ONNX operator Resize. */
static double
position (const Ways *w, const Side *s, gint64 i)
{
  double at = (double)i, last = (double)s->in - 1;

  if (g_str_equal (w->where, "asymmetric"))
    return unscaled (w, s, at);
  if (g_str_equal (w->where, "align_corners"))
    return s->out > 1 ? at * last / (double)(s->out - 1) : 0;
  if (g_str_equal (w->where, "tf_half_pixel_for_nn"))
    return unscaled (w, s, at + 0.5);
  if (g_str_equal (w->where, "half_pixel_symmetric"))
    return (double)s->in / 2 * (1 - (double)s->out / (s->scale * (double)s->in)) + unscaled (w, s, at + 0.5) - 0.5;
  if (g_str_equal (w->where, "tf_crop_and_resize"))
    return s->out > 1 ? s->start * last + at * (s->end - s->start) * last / (double)(s->out - 1)
                      : 0.5 * (s->start + s->end) * last;
  if (g_str_equal (w->where, "pytorch_half_pixel") && s->out <= 1)
    return 0;
  return unscaled (w, s, at + 0.5) - 0.5;
}

/* Operator sets before 11 mean “simple” without an attribute: round up if an image shrinks, else down. */
static gint64
nearest (const Ways *w, const Side *s, double x)
{
  if (g_str_equal (w->nearest, "simple"))
    return (gint64)(s->scale < 1 ? ceil (x) : floor (x));
  if (g_str_equal (w->nearest, "floor"))
    return (gint64)floor (x);
  if (g_str_equal (w->nearest, "ceil"))
    return (gint64)ceil (x);
  return (gint64)(g_str_equal (w->nearest, "round_prefer_ceil") ? floor (x + 0.5) : ceil (x - 0.5));
}

/* Keys' cubic convolution with its parameter a (Keys 1981). */
static double
cubic (double a, double d)
{
  d = fabs (d);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Row i of the matrix: the weight of each input position. Positions outside are clamped to the edge, or left out. With
 * antialias the filter is as wide as an output pixel of a smaller image. */
static void
fill_row (const Ways *w, const Side *s, gint64 i, LoomTensor *matrix)
{
  double x = position (w, s, i), sum = 0, factor = w->antialias ? MIN (s->scale, 1) : 1;
  gboolean is_cubic = g_str_equal (w->mode, "cubic"), normal = w->exclude_outside || w->antialias;
  double radius = (is_cubic ? 2 : 1) / factor;
  gint64 first = (gint64)floor (x - radius) + 1, n = (gint64)ceil (x + radius) - first;
  g_autofree double *part = g_new (double, MAX (n, 1));

  for (gint64 k = 0; k < n; k++)
    {
      gint64 at = first + k;
      double d = fabs (x - (double)at) * factor;
      part[k] = is_cubic ? cubic (w->a, d) : MAX (0, 1 - d);
      if (w->exclude_outside && (at < 0 || at >= s->in))
        part[k] = 0;
      sum += part[k];
    }
  for (gint64 k = 0; k < n; k++)
    {
      gint64 to = i * s->in + CLAMP (first + k, 0, s->in - 1);
      loom_tensor_set (matrix, to, loom_tensor_get (matrix, to) + part[k] / (normal ? sum : 1));
    }
}

static const OnnxWire *
pick_nearest (OnnxCtx *c, const Ways *w, const Side *s, const OnnxWire *x, int axis)
{
  g_autoptr (LoomTensor) index = onnx_tensor_new (c, LOOM_I64, 1, &s->out);

  for (gint64 i = 0; index != NULL && i < s->out; i++)
    ((gint64 *)index->data)[i] = CLAMP (nearest (w, s, position (w, s, i)), 0, s->in - 1);
  return onnx_emit (c, "index_select", ONNX_IN (x, onnx_tensor_wire (c, index, "places", FALSE)), "dim",
                    onnx_text (c, "%d", axis), NULL);
}

/* x is permuted to [..., in], multiplied by [in, out], and permuted back. */
static gboolean
is_outside (const Ways *w, const Side *s, gint64 i)
{
  double at = position (w, s, i);

  return g_str_equal (w->where, "tf_crop_and_resize") && (at < 0 || at > (double)s->in - 1);
}

static const OnnxWire *
multiply (OnnxCtx *c, const Ways *w, const Side *s, const OnnxWire *x, int axis)
{
  gboolean fits = s->in * s->out <= 1 << 24;
  g_autoptr (LoomTensor) rows = fits ? loom_tensor_new (LOOM_F64, 2, (gint64[]){ s->out, s->in }, NULL) : NULL;
  g_autoptr (LoomTensor) matrix = fits ? loom_tensor_new (LOOM_F32, 2, (gint64[]){ s->in, s->out }, NULL) : NULL;
  int rank = x->type.shape.rank;
  gint64 order[LOOM_SHAPE_MAX_RANK];

  if (rows == NULL || matrix == NULL)
    {
      onnx_fail (c, "resizing from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " positions needs too large a matrix.",
                 s->in, s->out);
      return x;
    }
  for (gint64 i = 0; i < s->out; i++)
    if (!is_outside (w, s, i))
      fill_row (w, s, i, rows);
  for (gint64 i = 0; i < s->out; i++)
    for (gint64 k = 0; k < s->in; k++)
      loom_tensor_set (matrix, k * s->out + i, loom_tensor_get (rows, i * s->in + k));
  for (int i = 0; i < rank; i++)
    order[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
  x = onnx_permute (c, x, order);
  x = onnx_binary (c, "matmul", x, onnx_tensor_wire (c, matrix, "interpolation", FALSE));
  return onnx_permute (c, x, order);
}

/* A region may extend beyond the image, where all values are equal. */
static const OnnxWire *
fill_outside (OnnxCtx *c, const Ways *w, const Side *side, const OnnxWire *x)
{
  int rank = x->type.shape.rank;

  for (int d = 0; d < rank && w->extrapolation != 0; d++)
    {
      LoomShape line = { .rank = rank };
      g_autoptr (LoomTensor) outside = onnx_tensor_new (c, LOOM_BOOL, 1, &side[d].out);
      gboolean any = FALSE;
      for (gint64 i = 0; outside != NULL && i < side[d].out; i++)
        {
          ((guint8 *)outside->data)[i] = is_outside (w, &side[d], i);
          any = any || is_outside (w, &side[d], i);
        }
      for (int i = 0; i < rank; i++)
        line.dim[i] = loom_dim (i == d ? side[d].out : 1);
      if (any)
        x = onnx_emit (c, "where",
                       ONNX_IN (onnx_reshape (c, onnx_tensor_wire (c, outside, "outside", FALSE), &line),
                                onnx_constant (c, w->extrapolation, LOOM_F32), x),
                       NULL);
    }
  return x;
}

/* ---- agreement with PyTorch ------------------------------------------- */

/* The mode of upsample that computes the same, or NULL. */
static const char *
upsample_mode (const Ways *w, int n, const Side *side, gboolean *align)
{
  static const char *const linear[] = { NULL, "linear", "bilinear", "trilinear" };
  gboolean half = g_str_has_suffix (w->where, "half_pixel"), whole = TRUE, grows = TRUE;

  *align = g_str_equal (w->where, "align_corners");
  for (int i = 0; i < n; i++)
    {
      double size = (double)side[i].in * side[i].scale;
      if ((!*align && fabs (size - (double)side[i].out) > 1e-6)
          || (g_str_equal (w->where, "pytorch_half_pixel") && side[i].out == 1))
        return NULL;
      whole = whole && side[i].out % side[i].in == 0;
      grows = grows && side[i].scale >= 1;
    }
  if (g_str_equal (w->mode, "nearest"))
    {
      /* Repeats each pixel. “nearest” with an offset of half a pixel selects the same ones. */
      gboolean floors = g_str_equal (w->where, "asymmetric")
                        && (g_str_equal (w->nearest, "floor") || (g_str_equal (w->nearest, "simple") && grows));
      *align = FALSE;
      return floors || (half && whole && g_str_has_prefix (w->nearest, "round")) ? "nearest" : NULL;
    }
  if ((!half && !*align) || w->exclude_outside || (w->antialias && !grows))
    return NULL;
  if (g_str_equal (w->mode, "cubic"))
    return n == 2 && fabs (w->a + 0.75) < 1e-6 ? "bicubic" : NULL;
  return linear[n];
}

/* Sides that are open have a factor instead of a size. */
static const OnnxWire *
upsample (OnnxCtx *c, const OnnxWire *x, const char *mode, gboolean align, int n, const Side *side)
{
  gint64 size[3];
  gboolean is_open = FALSE, is_whole = TRUE;

  for (int i = 0; i < n; i++)
    {
      is_open = is_open || side[i].open || side[i].dynamic;
      is_whole = is_whole && side[i].out % side[i].in == 0;
    }
  for (int i = 0; i < n; i++)
    size[i] = is_open ? side[i].out / side[i].in : side[i].out;
  if (is_open && (!is_whole || align))
    {
      onnx_fail (c, "it resizes an open size and a fixed one in different ways. Fix the size.");
      return x;
    }
  return onnx_emit (c, "upsample", ONNX_IN (x), is_open ? "scale_factor" : "size", onnx_list (c, (guint)n, size),
                    "mode", mode, "align_corners", align ? "true" : NULL, NULL);
}

/* ---- Resize ----------------------------------------------------------- */

static Side
whole_side (const OnnxWire *x, int axis)
{
  LoomDim d = x->type.shape.dim[axis];
  gboolean known = loom_dim_is_known (d);

  return (Side){ .in = known ? d.coef : 1, .out = known ? d.coef : 1, .scale = 1, .end = 1, .dynamic = !known };
}

/* A side of open size that is multiplied by a whole number. */
static Side
open_side (gint64 factor)
{
  return (Side){ .in = 1, .out = factor, .scale = (double)factor, .end = 1, .open = TRUE };
}

static Side
scaled_side (OnnxCtx *c, const OnnxWire *x, int axis, double scale)
{
  Side side = whole_side (x, axis);

  if (side.dynamic && scale == 1)
    return side;
  if (side.dynamic && scale > 1 && scale <= 65536 && scale == floor (scale))
    return open_side ((gint64)scale);
  gint64 in = onnx_dim (c, x, axis);
  return (Side){ .in = in, .out = (gint64)floor ((double)in * CLAMP (scale, 0, 1e6)), .scale = scale, .end = 1 };
}

static Side
sized_side (OnnxCtx *c, const OnnxWire *x, int axis, gint64 size)
{
  Side side = whole_side (x, axis);
  LoomDim asked;

  if (side.dynamic && onnx_dynamic_dim (c->all, size, &asked) && loom_dim_equal (asked, x->type.shape.dim[axis]))
    return side;
  if (side.dynamic && onnx_dynamic_dim (c->all, size, &asked) && loom_dim_div (asked, x->type.shape.dim[axis], &asked)
      && loom_dim_is_known (asked) && asked.coef > 1)
    return open_side (asked.coef);
  if (side.dynamic && onnx_batch_is_size (c, x->type.shape.dim[axis], size))
    return side;
  gint64 in = onnx_dim (c, x, axis);
  return (Side){ .in = in, .out = size, .scale = (double)size / (double)in, .end = 1 };
}

/* TRUE if this dimension is unchanged. A scale that keeps the size may still shift positions, except if it changes no
 * size at all, as in onnxruntime. */
static gboolean
is_kept (const Ways *w, const Side *s)
{
  gboolean still = s->scale == 1 || g_str_equal (w->where, "align_corners");

  return s->dynamic || (s->in == s->out && still && !g_str_equal (w->where, "tf_crop_and_resize"));
}

static void
resize (OnnxCtx *c, const OnnxWire *x, const Ways *w, const Side *side)
{
  int rank = x->type.shape.rank, n = rank - 2;
  gboolean images = n >= 1 && n <= 3, align, same = TRUE;

  for (int i = 0; i < rank; i++)
    {
      gboolean kept = is_kept (w, &side[i]);
      same = same && (kept || side[i].in == side[i].out) && !g_str_equal (w->where, "tf_crop_and_resize");
      images = images && (i >= 2 || kept);
      if (side[i].in < 1 || side[i].out < 1 || side[i].in > 65536 || side[i].out > 65536 || !(side[i].scale > 0))
        onnx_fail (c, "its sizes are not valid.");
    }
  if (c->failed || same)
    {
      onnx_out (c, 0, x);
      return;
    }
  const char *mode = images && loom_dtype_is_float (x->type.dtype) ? upsample_mode (w, n, side + 2, &align) : NULL;
  if (mode != NULL)
    {
      onnx_out (c, 0, upsample (c, x, mode, align, n, side + 2));
      return;
    }
  for (int i = 0; i < rank && !c->failed; i++)
    if (side[i].open)
      onnx_dim (c, x, i);
  for (int i = 0; i < rank && !c->failed; i++)
    if (!is_kept (w, &side[i]))
      x = g_str_equal (w->mode, "nearest") ? pick_nearest (c, w, &side[i], x, i) : multiply (c, w, &side[i], x, i);
  onnx_out (c, 0, fill_outside (c, w, side, x));
}

/* One scale for all of the sides that change: the smallest or the largest. */
static void
keep_aspect (Side **sides, int n, gboolean smallest)
{
  double scale = sides[0]->scale;

  for (int i = 1; i < n; i++)
    scale = smallest ? MIN (scale, sides[i]->scale) : MAX (scale, sides[i]->scale);
  for (int i = 0; i < n; i++)
    {
      sides[i]->scale = scale;
      sides[i]->out = (gint64)floor (scale * (double)sides[i]->in + 0.5);
    }
}

/* Inputs are X, scales in opset 10 and X, roi, scales, sizes since 11; the scale of the last dimension is last. */
static void
map_resize (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gboolean ten = onnx_opset (c) < 11;
  guint at = ten ? 1 : 2;
  Ways w = { .where = ten ? "asymmetric"
                          : onnx_attr_word (c, "coordinate_transformation_mode", "half_pixel", "half_pixel_symmetric",
                                            "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                                            "tf_crop_and_resize"),
             .mode = ten ? onnx_attr_word (c, "mode", "nearest", "linear")
                         : onnx_attr_word (c, "mode", "nearest", "linear", "cubic"),
             .nearest
             = ten ? "simple"
                   : onnx_attr_word (c, "nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
             .antialias = onnx_attr_int (c, "antialias", 0) != 0,
             .exclude_outside = onnx_attr_int (c, "exclude_outside", 0) != 0,
             .a = onnx_attr_float (c, "cubic_coeff_a", -0.75),
             .extrapolation = onnx_attr_float (c, "extrapolation_value", 0) };
  const LoomTensor *scales = onnx_has (c, at) ? onnx_const (c, at, "scales") : NULL;
  const LoomTensor *sizes = onnx_has (c, 3) ? onnx_const (c, 3, "sizes") : NULL;
  gboolean crops = g_str_equal (w.where, "tf_crop_and_resize");
  const LoomTensor *roi = crops && !ten ? onnx_const (c, 1, "roi") : NULL;
  Side side[LOOM_SHAPE_MAX_RANK] = { 0 }, *sides[LOOM_SHAPE_MAX_RANK];
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  int rank = x->type.shape.rank, n = rank;

  const char *policy = onnx_attr_word (c, "keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller");

  for (int i = 0; i < rank && !c->failed; i++)
    {
      axes[i] = i;
      side[i] = whole_side (x, i);
    }
  if (onnx_has_attr (c, "axes"))
    n = (int)onnx_attr_ints (c, "axes", axes, LOOM_SHAPE_MAX_RANK);
  const LoomTensor *said = sizes != NULL && sizes->count > 0 ? sizes : scales;
  if (said == NULL || said->count != n || (roi != NULL && roi->count != 2 * n))
    onnx_fail (c, "it needs a scale or a size for each dimension.");
  for (int i = 0; i < n && !c->failed; i++)
    {
      int axis = onnx_axis (c, axes[i], rank);
      Side *s = &side[axis];
      *s = said == sizes ? sized_side (c, x, axis, onnx_tensor_int (said, i))
                         : scaled_side (c, x, axis, loom_tensor_get (said, i));
      s->start = roi != NULL ? loom_tensor_get (roi, i) : 0;
      s->end = roi != NULL ? loom_tensor_get (roi, i + n) : 1;
      if (s->dynamic && (s->start != 0 || s->end != 1))
        onnx_dim (c, x, axis);
      sides[i] = s;
    }
  if (said == sizes && !g_str_equal (policy, "stretch") && !c->failed)
    keep_aspect (sides, n, g_str_equal (policy, "not_larger"));
  resize (c, x, &w, side);
}

/* Resize before opset 10: scales are an attribute until 9. */
static void
map_upsample (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const Onnx__AttributeProto *a = onnx_attr (c, "scales");
  const LoomTensor *t = a != NULL ? NULL : onnx_const (c, 1, "scales");
  Ways w = { .where = "asymmetric", .mode = onnx_attr_word (c, "mode", "nearest", "linear"), .nearest = "simple" };
  Side side[LOOM_SHAPE_MAX_RANK] = { 0 };
  int rank = x->type.shape.rank;

  if ((a != NULL ? (int)a->n_floats : t != NULL ? (int)t->count : -1) != rank)
    onnx_fail (c, "it needs a scale for each dimension.");
  for (int i = 0; i < rank && !c->failed; i++)
    side[i] = scaled_side (c, x, i, a != NULL ? a->floats[i] : loom_tensor_get (t, i));
  resize (c, x, &w, side);
}

const OnnxMap onnx_map_image[] = {
  { "Resize", "upsample", map_resize },
  { "Upsample", "upsample", map_upsample },
  { "GridSample", "grid_sample", onnx_map_grid_sample },
  { "AffineGrid", "affine_grid", onnx_map_affine_grid },
  { "Col2Im", "fold", onnx_map_col2im },
  { NULL },
};
