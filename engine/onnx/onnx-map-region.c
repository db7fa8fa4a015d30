/* Imports operators of detectors: NonMaxSuppression, RoiAlign and DeformConv.
 *
 * Each is composed of operators that every back end has. The best remaining box is chosen in a loop, whose number of
 * iterations is that of the boxes that are wanted; the chosen ones are counted while the graph runs, as those of
 * `nonzero` are. A region's bins are averages of bilinear samples, of which the weights of rows and columns are two
 * matrices: bins = rows · image · columnsᵀ, so that a gradient reaches the image and the regions. */
#include "engine/onnx/onnx-constant.h"

#include <math.h>

#define MAX_BOXES 100000
#define MAX_TABLE (1 << 24) /* elements of a table of positions */

/* ---- NonMaxSuppression -------------------------------------------------------------- */

/* Corners and area of all boxes, or of one, as [B, C or 1, N or 1]. */
typedef struct
{
  const OnnxWire *low[2], *high[2], *area;
} Boxes;

static void
set_area (OnnxCtx *c, Boxes *b)
{
  b->area = onnx_binary (c, "mul", onnx_binary (c, "sub", b->high[0], b->low[0]),
                         onnx_binary (c, "sub", b->high[1], b->low[1]));
}

/* Boxes [B, N, 4] are two corners in any order, or a centre and two sizes. */
static Boxes
read_boxes (OnnxCtx *c)
{
  const OnnxWire *x = onnx_permute (c, onnx_in (c, 0), (gint64[]){ 0, 2, 1 });
  gboolean centred = onnx_attr_int (c, "center_point_box", 0) != 0;
  Boxes b;

  for (int i = 0; i < 2; i++)
    {
      const OnnxWire *p = onnx_slice (c, x, 1, i, i + 1, 1), *q = onnx_slice (c, x, 1, i + 2, i + 3, 1);

      if (centred)
        {
          q = onnx_with_number (c, "mul", q, 0.5);
          b.low[i] = onnx_binary (c, "sub", p, q);
          b.high[i] = onnx_binary (c, "add", p, q);
        }
      else
        {
          b.low[i] = onnx_binary (c, "minimum", p, q);
          b.high[i] = onnx_binary (c, "maximum", p, q);
        }
    }
  set_area (c, &b);
  return b;
}

/* The boxes at [B, C, 1]. */
static Boxes
pick_boxes (OnnxCtx *c, const Boxes *from, const OnnxWire *at)
{
  Boxes b;

  for (int i = 0; i < 2; i++)
    {
      b.low[i] = onnx_emit (c, "take_along_dim", ONNX_IN (from->low[i], at), "dim", "2", NULL);
      b.high[i] = onnx_emit (c, "take_along_dim", ONNX_IN (from->high[i], at), "dim", "2", NULL);
    }
  set_area (c, &b);
  return b;
}

/* TRUE where a box overlaps the chosen one by more than the threshold. Empty boxes overlap none: 0 / 0 is not greater.
 */
static const OnnxWire *
overlaps (OnnxCtx *c, const Boxes *all, const Boxes *one, const OnnxWire *threshold)
{
  const OnnxWire *side[2], *both, *either;

  for (int i = 0; i < 2; i++)
    side[i] = onnx_clamp (c,
                          onnx_binary (c, "sub", onnx_binary (c, "minimum", all->high[i], one->high[i]),
                                       onnx_binary (c, "maximum", all->low[i], one->low[i])),
                          0, INFINITY);
  both = onnx_binary (c, "mul", side[0], side[1]);
  either = onnx_binary (c, "sub", onnx_binary (c, "add", all->area, one->area), both);
  return onnx_binary (c, "gt", onnx_binary (c, "div", both, either), threshold);
}

static const OnnxWire *
single (OnnxCtx *c, guint i)
{
  static const LoomShape scalar = { 0 };

  return onnx_has (c, i) ? onnx_reshape (c, onnx_in (c, i), &scalar) : onnx_constant (c, 0, LOOM_F32);
}

static Boxes
captured (OnnxImport *scope, const Boxes *b)
{
  return (Boxes){
    .low = { onnx_scope_capture (scope, "top", b->low[0]), onnx_scope_capture (scope, "left", b->low[1]) },
    .high = { onnx_scope_capture (scope, "bottom", b->high[0]), onnx_scope_capture (scope, "right", b->high[1]) },
    .area = onnx_scope_capture (scope, "area", b->area)
  };
}

/* out[]: the chosen box of each step and whether there was one, [steps, B, C]. */
static void
suppress (OnnxCtx *c, const Boxes *outside, const OnnxWire *scores, const OnnxWire *may, LoomDim steps,
          const OnnxWire *out[2])
{
  OnnxImport *scope = onnx_scope_new (c->all, "best_box");
  OnnxCtx in = onnx_scope_ctx (c, scope);
  const OnnxWire *count = onnx_count (c, steps), *threshold = single (c, 3);
  const OnnxWire *left, *best, *found, *gone, *score;
  Boxes all, one;

  if (c->failed)
    return;
  onnx_scope_input (scope, "step", &(LoomType){ .dtype = LOOM_I64 });
  left = onnx_scope_input (scope, "left", &may->type);
  score = onnx_scope_capture (scope, "scores", scores);
  all = captured (scope, outside);
  best = onnx_emit (&in, "where", ONNX_IN (left, score, NULL), "other", "-3e38", NULL);
  best = onnx_emit (&in, "argmax", ONNX_IN (best), "dim", "2", "keepdim", "true", NULL);
  found = onnx_emit (&in, "take_along_dim", ONNX_IN (onnx_cast (&in, left, LOOM_I64), best), "dim", "2", NULL);
  one = pick_boxes (&in, &all, best);
  gone = overlaps (&in, &all, &one, onnx_scope_capture (scope, "threshold", threshold));
  gone = onnx_binary (
      &in, "logical_or", gone,
      onnx_binary (&in, "eq", best, onnx_emit (&in, "arange", ONNX_IN (score), "dim", "2", "dtype", "i64", NULL)));
  onnx_scope_output (&in, "box", onnx_emit (&in, "squeeze", ONNX_IN (best), "dim", "2", NULL), NULL);
  onnx_scope_output (&in, "found", onnx_emit (&in, "squeeze", ONNX_IN (found), "dim", "2", NULL), NULL);
  onnx_scope_output (&in, "left", onnx_binary (&in, "logical_and", left, onnx_unary (&in, "logical_not", gone)), left);
  c->failed = c->failed || in.failed;
  const OnnxNode *node = onnx_emit_loop (
      c, scope, &(OnnxLoop){ .in = (const OnnxWire *[]){ count, may }, .is_sequence = (gboolean[]){ TRUE, FALSE } });
  for (guint i = 0; i < 2 && node != NULL; i++)
    out[i] = &node->out[i];
}

/* Inputs: boxes [B, N, 4], scores [B, C, N], the most boxes of a class, thresholds of overlap and score. The result is
 * a row (batch, class, box) for each chosen box, in the order of choosing within a class. */
static void
map_non_max_suppression (OnnxCtx *c)
{
  const OnnxWire *scores = onnx_in (c, 1), *may, *out[2] = { NULL, NULL }, *rows, *box;
  const LoomTensor *t = onnx_has (c, 2) ? onnx_const (c, 2, "max_output_boxes_per_class") : NULL;
  gint64 most = t != NULL && t->count == 1 ? onnx_tensor_int (t, 0) : 0;
  LoomDim n;
  Boxes boxes;

  if (!c->failed && (scores->type.shape.rank != 3 || onnx_in (c, 0)->type.shape.rank != 3))
    onnx_fail (c, "its boxes and scores need three dimensions.");
  if (c->failed)
    return;
  if (most < 1)
    {
      onnx_out (c, 0, onnx_emit (c, "constant", 0, NULL, "value", "0", "shape", "0,3", "dtype", "i64", NULL));
      return;
    }
  n = scores->type.shape.dim[2];
  if (loom_dim_is_known (n) || most <= MAX_BOXES)
    n = loom_dim (loom_dim_is_known (n) ? MIN (n.coef, most) : most);
  boxes = read_boxes (c);
  may = onnx_has (c, 4) ? onnx_binary (c, "gt", scores, single (c, 4))
                        : onnx_unary (c, "logical_not", onnx_unary (c, "isnan", scores));
  suppress (c, &boxes, scores, may, n, out);
  if (c->failed)
    return;
  box = onnx_permute (c, out[0], (gint64[]){ 1, 2, 0 });
  rows = onnx_unary (c, "nonzero", onnx_permute (c, out[1], (gint64[]){ 1, 2, 0 }));
  box = onnx_unsqueeze (c, onnx_binary (c, "gather_nd", box, rows), 1);
  onnx_out (c, 0, onnx_emit (c, "concat", ONNX_IN (onnx_slice (c, rows, 1, 0, 2, 1), box), "dim", "1", NULL));
}

/* ---- RoiAlign ------------------------------------------------------------------------ */

typedef struct
{
  gint64 size, bins, samples; /* of the image along a dimension; of a region; the most of a bin */
  gboolean adaptive;          /* a region has one sample for each pixel of a bin, rounded up */
  const OnnxWire *part[2];    /* [R, bins · samples, size]: weights of the pixels before and after each sample */
  const OnnxWire *count;      /* [R, 1]: samples of a bin, if they are adaptive */
} Axis;

/* An index for each of the bins · samples positions, plus `shift`: 0 … n - 1, each one `repeat` times, periodically. */
static const OnnxWire *
indices (OnnxCtx *c, const Axis *a, gint64 repeat, gint64 n, double shift)
{
  gint64 length = a->bins * a->samples;
  g_autoptr (LoomTensor) t = onnx_tensor_new (c, LOOM_F32, 1, &length);

  for (gint64 i = 0; t != NULL && i < length; i++)
    ((float *)t->data)[i] = (float)((double)(i / repeat % n) + shift);
  return onnx_tensor_wire (c, t, "samples", FALSE);
}

/* Bin and fraction of each sample, bin + (sample + 0.5) / count, and 1 for each sample that counts. */
static const OnnxWire *
steps_of (OnnxCtx *c, Axis *a, const OnnxWire *length, const OnnxWire **counts)
{
  const OnnxWire *bin = indices (c, a, a->samples, a->bins, 0), *sample = indices (c, a, 1, a->samples, 0.5), *fits,
                 *count;

  *counts = NULL;
  if (!a->adaptive)
    return onnx_binary (c, "add", bin, onnx_with_number (c, "div", sample, (double)a->samples));
  count = onnx_unary (c, "ceil", onnx_with_number (c, "div", length, (double)a->bins));
  /* An empty region has no sample, and the sum over none is divided by 1. */
  a->count = onnx_clamp (c, count, 1, INFINITY);
  /* A region with more samples than there are positions for has no value: 0 / 0. */
  fits = onnx_cast (c, onnx_with_number (c, "le", a->count, (double)a->samples), LOOM_F32);
  *counts = onnx_cast (c, onnx_binary (c, "lt", sample, count), LOOM_F32);
  *counts = onnx_binary (c, "div", onnx_binary (c, "mul", *counts, fits), fits);
  return onnx_binary (c, "add", bin, onnx_binary (c, "div", sample, a->count));
}

/* Samples beyond the image by up to a pixel have the value of its edge, others are zero. */
static void
set_weights (OnnxCtx *c, Axis *a, const OnnxWire *start, const OnnxWire *end, gboolean half_pixel)
{
  const OnnxWire *length = onnx_binary (c, "sub", end, start), *at, *inside, *counts, *before, *after, *pixel,
                 *fraction;

  if (!half_pixel)
    length = onnx_clamp (c, length, 1, INFINITY);
  at = onnx_binary (c, "mul", onnx_with_number (c, "mul", length, 1.0 / (double)a->bins),
                    steps_of (c, a, length, &counts));
  at = onnx_binary (c, "add", start, at);
  inside = onnx_binary (c, "logical_and", onnx_with_number (c, "ge", at, -1),
                        onnx_with_number (c, "le", at, (double)a->size));
  inside = onnx_cast (c, inside, LOOM_F32);
  if (counts != NULL)
    inside = onnx_binary (c, "mul", inside, counts);
  inside = onnx_unsqueeze (c, inside, 2);
  at = onnx_unsqueeze (c, at, 2);
  at = onnx_clamp (c, at, 0, (double)a->size - 1);
  before = onnx_unary (c, "floor", at);
  fraction = onnx_binary (c, "sub", at, before);
  after = onnx_clamp (c, onnx_with_number (c, "add", before, 1), -INFINITY, (double)a->size - 1);
  pixel = onnx_cast (c, onnx_count (c, loom_dim (a->size)), LOOM_F32);
  before = onnx_cast (c, onnx_binary (c, "eq", before, pixel), LOOM_F32);
  after = onnx_cast (c, onnx_binary (c, "eq", after, pixel), LOOM_F32);
  fraction = onnx_binary (c, "mul", fraction, inside);
  a->part[0] = onnx_binary (c, "mul", before, onnx_binary (c, "sub", inside, fraction));
  a->part[1] = onnx_binary (c, "mul", after, fraction);
}

/* The mean over the samples of each bin, [R, 1, bins, size]. */
static const OnnxWire *
mean_weights (OnnxCtx *c, const Axis *a)
{
  const OnnxWire *w = onnx_binary (c, "add", a->part[0], a->part[1]);
  LoomShape shape = { .rank = 5,
                      .dim = { w->type.shape.dim[0], loom_dim (1), loom_dim (a->bins), loom_dim (a->samples),
                               loom_dim (a->size) } };

  w = onnx_reshape (c, w, &shape);
  if (!a->adaptive)
    return onnx_emit (c, "mean", ONNX_IN (w), "dim", "3", NULL);
  return onnx_binary (c, "div", onnx_emit (c, "sum", ONNX_IN (w), "dim", "3", NULL),
                      onnx_emit (c, "unsqueeze", ONNX_IN (a->count), "dim", "2,3", NULL));
}

/* rows · image · columnsᵀ; rows and columns are [R, 1, n, size], the image is [R or 1, C, H, W]. */
static const OnnxWire *
project (OnnxCtx *c, const OnnxWire *image, const OnnxWire *rows, const OnnxWire *columns)
{
  image = onnx_binary (c, "matmul", image, onnx_permute (c, columns, (gint64[]){ 0, 1, 3, 2 }));
  return onnx_binary (c, "matmul", rows, image);
}

/* The largest weighted pixel, as onnxruntime defines it: not the largest interpolated sample. */
static const OnnxWire *
largest (OnnxCtx *c, const OnnxWire *image, const Axis *y, const Axis *x)
{
  const OnnxWire *most = NULL, *row[2], *column[2];

  for (int i = 0; i < 2; i++)
    {
      row[i] = onnx_unsqueeze (c, y->part[i], 1);
      column[i] = onnx_unsqueeze (c, x->part[i], 1);
    }
  for (int i = 0; i < 4; i++)
    {
      const OnnxWire *p = project (c, image, row[i / 2], column[i % 2]);
      most = most != NULL ? onnx_binary (c, "maximum", most, p) : p;
    }
  gint64 window[] = { y->samples, x->samples };
  return onnx_emit (c, "max_pool2d", ONNX_IN (most), "kernel_size", onnx_list (c, 2, window), "stride",
                    onnx_list (c, 2, window), NULL);
}

/* Without a number of samples it is that of the pixels of a bin, rounded up; positions are kept for a region of twice
 * the image's size, since detectors clip theirs to the image. */
static Axis
axis_of (OnnxCtx *c, int dim, const char *attribute, gint64 samples)
{
  Axis a = { .size = onnx_dim (c, onnx_in (c, 0), dim), .bins = onnx_attr_int (c, attribute, 1), .samples = samples };

  a.adaptive = samples < 1;
  if (a.bins < 1 || a.bins > 65536 || samples > 65536 || a.size < 1 || a.size > MAX_TABLE)
    {
      onnx_fail (c, "its sizes are not valid.");
      return a;
    }
  if (a.adaptive)
    a.samples = (2 * a.size + a.bins - 1) / a.bins;
  if (a.bins * a.samples > MAX_TABLE)
    onnx_fail (c, "its regions have %" G_GINT64_FORMAT " samples along a side; the limit is %d.", a.bins * a.samples,
               MAX_TABLE);
  if (a.adaptive && g_str_equal (onnx_attr_string (c, "mode", "avg"), "max"))
    onnx_fail (c,
               "the largest of a number of samples that depends on each region (“sampling_ratio” 0) is not supported. "
               "Export the model with a fixed number; 2 is usual.");
  return a;
}

/* Inputs: image [N, C, H, W], regions [R, 4] as x, y, x, y, and the image of each region. */
static void
map_roi_align (OnnxCtx *c)
{
  const OnnxWire *image = onnx_in (c, 0), *roi = onnx_in (c, 1);
  const char *mode = onnx_attr_word (c, "mode", "avg", "max");
  gboolean half
      = onnx_opset (c) >= 16
        && g_str_equal (onnx_attr_word (c, "coordinate_transformation_mode", "half_pixel", "output_half_pixel"),
                        "half_pixel");
  gint64 samples = onnx_attr_int (c, "sampling_ratio", 0);
  Axis y = axis_of (c, 2, "output_height", samples), x = axis_of (c, 3, "output_width", samples);
  const OnnxWire *edge[4];

  if (c->failed)
    return;
  roi = onnx_with_number (c, "mul", roi, onnx_attr_float (c, "spatial_scale", 1));
  if (half)
    roi = onnx_with_number (c, "sub", roi, 0.5);
  for (int i = 0; i < 4; i++)
    edge[i] = onnx_slice (c, roi, 1, i, i + 1, 1);
  set_weights (c, &x, edge[0], edge[2], half);
  set_weights (c, &y, edge[1], edge[3], half);
  if (!loom_dim_equal (image->type.shape.dim[0], loom_dim (1)))
    image = onnx_emit (c, "index_select", ONNX_IN (image, onnx_cast (c, onnx_in (c, 2), LOOM_I64)), "dim", "0", NULL);
  onnx_out (c, 0,
            g_str_equal (mode, "max") ? largest (c, image, &y, &x)
                                      : project (c, image, mean_weights (c, &y), mean_weights (c, &x)));
}

/* ---- DeformConv ---------------------------------------------------------------------- */

typedef struct
{
  gint64 kernel[2], stride[2], pads[4], dilation[2], out[2], size[2], groups, offsets; /* offsets: groups of channels */
} Deform;

static gboolean
fits_table (const gint64 *size, guint n)
{
  gint64 count = 1;

  for (guint i = 0; i < n; i++)
    if (size[i] < 1 || size[i] > MAX_TABLE / count)
      return FALSE;
    else
      count *= size[i];
  return TRUE;
}

static gboolean
read_deform (OnnxCtx *c, Deform *d)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 1), *offset = onnx_in (c, 2);

  *d = (Deform){ .stride = { 1, 1 },
                 .dilation = { 1, 1 },
                 .groups = onnx_attr_int (c, "group", 1),
                 .offsets = onnx_attr_int (c, "offset_group", 1) };
  if (!c->failed && (x->type.shape.rank != 4 || w->type.shape.rank != 4 || offset->type.shape.rank != 4))
    onnx_fail (c, "only images [batch, channels, height, width] are supported.");
  onnx_attr_ints (c, "kernel_shape", d->kernel, 2); /* repeats the sizes of the weight */
  onnx_attr_ints (c, "strides", d->stride, 2);
  onnx_attr_ints (c, "pads", d->pads, 4);
  onnx_attr_ints (c, "dilations", d->dilation, 2);
  for (int i = 0; i < 2 && !c->failed; i++)
    {
      d->kernel[i] = onnx_dim (c, w, 2 + i);
      d->out[i] = onnx_dim (c, offset, 2 + i);
      d->size[i] = onnx_dim (c, x, 2 + i);
    }
  if (!c->failed && !fits_table ((gint64[]){ d->kernel[0], d->kernel[1], d->out[0], d->out[1] }, 4))
    onnx_fail (c, "its kernel and its offsets make more than %d positions.", MAX_TABLE);
  if (!c->failed
      && (d->groups < 1 || d->offsets < 1 || onnx_dim (c, x, 1) % d->groups != 0 || onnx_dim (c, x, 1) % d->offsets != 0
          || onnx_dim (c, w, 0) % d->groups != 0
          || onnx_dim (c, offset, 1) != 2 * d->offsets * d->kernel[0] * d->kernel[1]))
    onnx_fail (c, "its groups, channels and offsets do not fit.");
  return !c->failed;
}

/* Where the kernel's element k reads for each output without an offset, along dimension i: [K, out, out]. */
static const OnnxWire *
positions (OnnxCtx *c, const Deform *d, int i)
{
  gint64 dims[3] = { d->kernel[0] * d->kernel[1], d->out[0], d->out[1] };
  g_autoptr (LoomTensor) t = onnx_tensor_new (c, LOOM_F32, 3, dims);

  for (gint64 k = 0; t != NULL && k < t->count; k++)
    {
      gint64 at[2] = { k / d->out[1] % d->out[0], k % d->out[1] }, tap = k / d->out[1] / d->out[0];
      gint64 part = i == 0 ? tap / d->kernel[1] : tap % d->kernel[1];

      ((float *)t->data)[k] = (float)(at[i] * d->stride[i] - d->pads[i] + part * d->dilation[i]);
    }
  return onnx_tensor_wire (c, t, "positions", FALSE);
}

/* The positions along dimension i as grid_sample has them, from -1 to 1: [N · offset groups, K · out, out, 1]. */
static const OnnxWire *
coordinates (OnnxCtx *c, const Deform *d, const OnnxWire *offset, int i)
{
  gint64 taps = d->kernel[0] * d->kernel[1];
  LoomDim n = loom_dim_mul (offset->type.shape.dim[0], loom_dim (d->offsets));
  LoomShape pairs
      = { .rank = 5, .dim = { n, loom_dim (taps), loom_dim (2), loom_dim (d->out[0]), loom_dim (d->out[1]) } };
  LoomShape grid = { .rank = 4, .dim = { n, loom_dim (taps * d->out[0]), loom_dim (d->out[1]), loom_dim (1) } };
  const OnnxWire *at = onnx_emit (c, "select", ONNX_IN (onnx_reshape (c, offset, &pairs)), "dim", "2", "index",
                                  onnx_text (c, "%d", i), NULL);

  at = onnx_with_number (c, "mul", onnx_binary (c, "add", at, positions (c, d, i)), 2);
  at = onnx_with_number (c, "div", onnx_with_number (c, "add", at, 1), (double)d->size[i]);
  return onnx_reshape (c, onnx_with_number (c, "sub", at, 1), &grid);
}

/* Inputs: x, weight [O, C / groups, …], offsets [N, offset groups · K · 2, …], bias, mask [N, offset groups · K, …].
 * The samples are the columns of a product with the weights (Zhu et al. 2018, “Deformable ConvNets v2”, section 3.1).
 */
static void
map_deform_conv (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_in (c, 1), *offset = onnx_in (c, 2), *grid, *y;
  gint64 channels = onnx_dim (c, x, 1), out = onnx_dim (c, w, 0);
  LoomDim n = x->type.shape.dim[0];
  Deform d;

  if (!read_deform (c, &d))
    return;
  gint64 taps = d.kernel[0] * d.kernel[1], area = d.out[0] * d.out[1];
  LoomShape images = { .rank = 4,
                       .dim = { loom_dim_mul (n, loom_dim (d.offsets)), loom_dim (channels / d.offsets),
                                loom_dim (d.size[0]), loom_dim (d.size[1]) } };
  LoomShape samples
      = { .rank = 5,
          .dim = { n, loom_dim (d.offsets), loom_dim (channels / d.offsets), loom_dim (taps), loom_dim (area) } };
  LoomShape columns
      = { .rank = 4, .dim = { n, loom_dim (d.groups), loom_dim (channels / d.groups * taps), loom_dim (area) } };
  LoomShape weights = loom_shape (3, (gint64[]){ d.groups, out / d.groups, channels / d.groups * taps });
  LoomShape result = { .rank = 4, .dim = { n, loom_dim (out), loom_dim (d.out[0]), loom_dim (d.out[1]) } };

  grid = onnx_emit (c, "concat", ONNX_IN (coordinates (c, &d, offset, 1), coordinates (c, &d, offset, 0)), "dim", "3",
                    NULL);
  y = onnx_reshape (c, onnx_binary (c, "grid_sample", onnx_reshape (c, x, &images), grid), &samples);
  if (onnx_has (c, 4))
    {
      samples.dim[2] = loom_dim (1);
      y = onnx_binary (c, "mul", y, onnx_reshape (c, onnx_in (c, 4), &samples));
    }
  y = onnx_binary (c, "matmul", onnx_reshape (c, w, &weights), onnx_reshape (c, y, &columns));
  y = onnx_reshape (c, y, &result);
  if (onnx_has (c, 3))
    {
      LoomShape bias = loom_shape (3, (gint64[]){ out, 1, 1 });
      y = onnx_binary (c, "add", y, onnx_reshape (c, onnx_in (c, 3), &bias));
    }
  onnx_out (c, 0, y);
}

const OnnxMap onnx_map_region[] = {
  { "NonMaxSuppression", "nonzero", map_non_max_suppression },
  { "RoiAlign", "matmul", map_roi_align },
  { "DeformConv", "grid_sample", map_deform_conv },
  { NULL },
};
