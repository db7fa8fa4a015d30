/* Augmentation, in the usual order of torchvision: geometry, colours, normalisation, cutout (DeVries and Taylor,
 * "Improved regularization of convolutional neural networks with cutout", 2017).
 *
 * All random numbers of a sample are drawn in one order, independent of the options in use, so that one option does not
 * change the effect of another. Pixels outside the picture are black. */
#include "engine/data/loom-augment.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-boxes.h"

#define STREAM           10
#define BLOCKS_PER_EPOCH 16 /* of four random words each; more than a sample draws */

struct _LoomAugment
{
  gint64 channels, height, width;
  double flip, rotate, zoom, shear, brightness, contrast, saturation;
  gint64 crop, cutout;
  gboolean changes, normalizes;
  double *mean, *std; /* one number per channel */
};

/* The random parameters of one sample. */
typedef struct
{
  gboolean flip;
  gint64 dx, dy;
  double angle, scale, lean;               /* lean: shear, in columns per row */
  double brightness, contrast, saturation; /* factors */
  gint64 cut_x, cut_y;                     /* the middle of the square */
} Draw;

LoomAugment *
loom_augment_new (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const LoomDatasetInfo *info,
                  GError **error)
{
  g_autoptr (LoomAugment) self = g_new0 (LoomAugment, 1);
  const LoomType *x = &info->port[0].type;
  const gboolean has_mean = *loom_option_string (klass, options, "mean") != '\0';
  const gboolean has_std = *loom_option_string (klass, options, "std") != '\0';

  self->flip = loom_option_float (klass, options, "flip");
  self->crop = loom_option_int (klass, options, "crop");
  self->rotate = loom_option_float (klass, options, "rotate");
  self->zoom = loom_option_float (klass, options, "zoom");
  self->shear = loom_option_float (klass, options, "shear");
  self->brightness = loom_option_float (klass, options, "brightness");
  self->contrast = loom_option_float (klass, options, "contrast");
  self->saturation = loom_option_float (klass, options, "saturation");
  self->cutout = loom_option_int (klass, options, "cutout");
  self->changes = self->flip > 0 || self->crop > 0 || self->rotate > 0 || self->zoom > 0 || self->shear > 0
                  || self->brightness > 0 || self->contrast > 0 || self->saturation > 0 || self->cutout > 0;
  self->normalizes = has_mean || has_std;
  if (!self->changes && !self->normalizes)
    return NULL;
  if (x->shape.rank != 4)
    return loom_refuse_null (
        error, LOOM_ERROR_SCHEMA,
        "The data set %s has options that change or normalise pictures, but its samples are not pictures.",
        klass->name);
  self->channels = x->shape.dim[1].coef;
  self->height = x->shape.dim[2].coef;
  self->width = x->shape.dim[3].coef;
  if (has_mean)
    self->mean = loom_option_floats (klass, options, "mean", (gsize)self->channels, error);
  if (has_std && (self->mean != NULL || !has_mean))
    self->std = loom_option_floats (klass, options, "std", (gsize)self->channels, error);
  if ((has_mean && self->mean == NULL) || (has_std && self->std == NULL))
    return NULL;
  return g_steal_pointer (&self);
}

void
loom_augment_free (LoomAugment *self)
{
  if (self == NULL)
    return;
  g_free (self->mean);
  g_free (self->std);
  g_free (self);
}

gboolean
loom_augment_changes (const LoomAugment *self)
{
  return self->changes;
}

/* ---- drawing -------------------------------------------------------------- */

/* From -1 to 1. */
static double
draw_signed (LoomSampleRandom *random)
{
  return 2 * loom_sample_uniform (random) - 1;
}

static gint64
draw_shift (LoomSampleRandom *random, gint64 most)
{
  return (gint64)loom_sample_below (random, (guint32)(2 * most + 1)) - most;
}

static Draw
draw (const LoomAugment *self, guint64 seed, guint64 epoch, gint64 sample)
{
  LoomSampleRandom random = loom_sample_random (seed, STREAM, LOOM_SPLIT_TRAIN, sample);
  Draw d;

  random.block = epoch * BLOCKS_PER_EPOCH;
  d.flip = loom_sample_uniform (&random) < self->flip;
  d.dx = draw_shift (&random, self->crop);
  d.dy = draw_shift (&random, self->crop);
  d.angle = draw_signed (&random) * self->rotate * G_PI / 180;
  d.scale = 1 + draw_signed (&random) * self->zoom;
  d.brightness = 1 + draw_signed (&random) * self->brightness;
  d.contrast = 1 + draw_signed (&random) * self->contrast;
  d.saturation = 1 + draw_signed (&random) * self->saturation;
  d.cut_x = loom_sample_below (&random, (guint32)self->width);
  d.cut_y = loom_sample_below (&random, (guint32)self->height);
  d.lean = tan (draw_signed (&random) * self->shear * G_PI / 180);
  return d;
}

/* ---- geometry ------------------------------------------------------------- */

static float
pixel (const LoomAugment *self, const float *plane, gint64 x, gint64 y)
{
  return x >= 0 && y >= 0 && x < self->width && y < self->height ? plane[y * self->width + x] : 0;
}

/* Bilinear interpolation between four pixels. */
static float
sample_at (const LoomAugment *self, const float *plane, double x, double y)
{
  const gint64 x0 = (gint64)floor (x), y0 = (gint64)floor (y);
  const double u = x - (double)x0, v = y - (double)y0;

  return (float)((1 - v) * ((1 - u) * pixel (self, plane, x0, y0) + u * pixel (self, plane, x0 + 1, y0))
                 + v * ((1 - u) * pixel (self, plane, x0, y0 + 1) + u * pixel (self, plane, x0 + 1, y0 + 1)));
}

/* Where pixels come from: inverse rotation and scale around the middle, inverse shear, then translation. exact: pixels
 * move by whole columns and rows. */
typedef struct
{
  gboolean exact, flip;
  gint64 last, dx, dy; /* last: the last column */
  double cx, cy, c, s, lean;
} Motion;

static Motion
motion_of (const LoomAugment *self, const Draw *d)
{
  return (Motion){ .exact = self->rotate == 0 && self->zoom == 0 && self->shear == 0,
                   .flip = d->flip,
                   .last = self->width - 1,
                   .dx = d->dx,
                   .dy = d->dy,
                   .cx = (double)(self->width - 1) / 2,
                   .cy = (double)(self->height - 1) / 2,
                   .c = cos (d->angle) / d->scale,
                   .s = sin (d->angle) / d->scale,
                   .lean = d->lean };
}

/* The position in the old picture that is moved to (x, y). */
static inline void
find_source (const Motion *m, gint64 x, gint64 y, double *from_x, double *from_y)
{
  const gint64 from = m->flip ? m->last - x : x;
  const double u = (double)from - m->cx, v = (double)y - m->cy, down = m->c * v - m->s * u;

  *from_x = m->exact ? (double)(from + m->dx) : m->c * u + m->s * v + m->lean * down + m->cx + (double)m->dx;
  *from_y = m->exact ? (double)(y + m->dy) : down + m->cy + (double)m->dy;
}

/* Computes each pixel of the new picture from the old one. Without any change, pixels are unchanged. */
static void
move (const LoomAugment *self, const Draw *d, float *picture)
{
  const gint64 count = self->channels * self->height * self->width;
  const Motion m = motion_of (self, d);
  g_autofree float *old = NULL;

  if (m.exact && !d->flip && d->dx == 0 && d->dy == 0)
    return;
  old = g_memdup2 (picture, (gsize)count * sizeof *picture);
  for (gint64 y = 0; y < self->height; y++)
    for (gint64 x = 0; x < self->width; x++)
      {
        double u, v;

        find_source (&m, x, y, &u, &v);
        for (gint64 k = 0; k < self->channels; k++)
          {
            const float *plane = old + k * self->height * self->width;

            picture[(k * self->height + y) * self->width + x]
                = m.exact ? pixel (self, plane, (gint64)u, (gint64)v) : sample_at (self, plane, u, v);
          }
      }
}

/* The same for classes: the nearest pixel; what comes from outside is ignored. */
static void
move_mask (const LoomAugment *self, const Draw *d, gint64 *mask)
{
  const Motion m = motion_of (self, d);
  g_autofree gint64 *old = g_memdup2 (mask, (gsize)(self->height * self->width) * sizeof *mask);

  for (gint64 y = 0; y < self->height; y++)
    for (gint64 x = 0; x < self->width; x++)
      {
        double u, v;

        find_source (&m, x, y, &u, &v);
        const gint64 column = (gint64)floor (u + 0.5), row = (gint64)floor (v + 0.5);
        const gboolean is_inside = column >= 0 && row >= 0 && column < self->width && row < self->height;

        mask[y * self->width + x] = is_inside ? old[row * self->width + column] : LOOM_TARGET_IGNORED;
      }
}

#define LEAST_LEFT 0.25 /* of a box's area that is still in the picture */

/* Where a point of the old picture goes: the inverse of find_source(), whose positions are middles of pixels, half a
 * pixel from their edges. */
static void
move_point (const Motion *m, double *x, double *y)
{
  const double u = *x - 0.5 - m->cx - (double)m->dx, v = *y - 0.5 - m->cy - (double)m->dy;
  const double a = m->c - m->lean * m->s, b = m->s + m->lean * m->c, det = a * m->c + b * m->s;
  const double to_x = m->exact ? u : (m->c * u - b * v) / det, to_y = m->exact ? v : (m->s * u + a * v) / det;

  *x = (m->flip ? -to_x : to_x) + m->cx + 0.5;
  *y = to_y + m->cy + 0.5;
}

static gboolean
move_box (const LoomAugment *self, const Motion *m, const float *from, float *boxes, gint64 at)
{
  double box[4] = { INFINITY, INFINITY, -INFINITY, -INFINITY };
  float *to = boxes + at * LOOM_BOX_NUMBERS;

  for (int corner = 0; corner < 4; corner++)
    {
      double x = (double)from[corner & 1 ? 3 : 1], y = (double)from[corner & 2 ? 4 : 2];

      move_point (m, &x, &y);
      box[0] = MIN (box[0], x);
      box[1] = MIN (box[1], y);
      box[2] = MAX (box[2], x);
      box[3] = MAX (box[3], y);
    }
  return loom_boxes_set (boxes, at, (gint64)from[0], box, self->width, self->height)
         && (double)(to[3] - to[1]) * (double)(to[4] - to[2]) >= LEAST_LEFT * (box[2] - box[0]) * (box[3] - box[1]);
}

void
loom_augment_boxes (const LoomAugment *self, guint64 seed, guint64 epoch, gint64 sample, float *boxes, gint64 n)
{
  const Draw d = draw (self, seed, epoch, sample);
  const Motion m = motion_of (self, &d);
  gint64 kept = 0;

  for (gint64 i = 0; i < n; i++)
    {
      float from[LOOM_BOX_NUMBERS];

      memcpy (from, boxes + i * LOOM_BOX_NUMBERS, sizeof from);
      if (from[0] != LOOM_BOX_NONE && move_box (self, &m, from, boxes, kept))
        kept++;
    }
  memset (boxes + kept * LOOM_BOX_NUMBERS, 0, (gsize)(n - kept) * LOOM_BOX_NUMBERS * sizeof *boxes);
  for (gint64 i = kept; i < n; i++)
    boxes[i * LOOM_BOX_NUMBERS] = LOOM_BOX_NONE;
}

/* ---- colours --------------------------------------------------------------- */

static float
grey_at (const LoomAugment *self, const float *picture, gint64 i)
{
  const gint64 n = self->height * self->width;

  return self->channels >= 3 ? 0.299f * picture[i] + 0.587f * picture[n + i] + 0.114f * picture[2 * n + i] : picture[i];
}

static float
blend (float value, float with, double factor)
{
  return CLAMP ((float)(with + factor * (value - with)), 0, 1);
}

/* Like torchvision's ColorJitter, always in this order. A fourth channel, alpha, is unchanged. */
static void
recolor (const LoomAugment *self, const Draw *d, float *picture)
{
  const gint64 n = self->height * self->width, count = MIN (self->channels, 3) * n;
  double mean = 0;

  for (gint64 i = 0; self->brightness > 0 && i < count; i++)
    picture[i] = blend (picture[i], 0, d->brightness);
  for (gint64 i = 0; self->contrast > 0 && i < n; i++)
    mean += grey_at (self, picture, i) / (double)n;
  for (gint64 i = 0; self->contrast > 0 && i < count; i++)
    picture[i] = blend (picture[i], (float)mean, d->contrast);
  for (gint64 i = 0; self->saturation > 0 && self->channels >= 3 && i < n; i++)
    {
      const float grey = grey_at (self, picture, i);

      for (gint64 k = 0; k < 3; k++)
        picture[k * n + i] = blend (picture[k * n + i], grey, d->saturation);
    }
}

/* ---- all -------------------------------------------------------------------- */

void
loom_augment_normalize (const LoomAugment *self, float *picture)
{
  const gint64 n = self->height * self->width;

  for (gint64 k = 0; k < self->channels && self->normalizes; k++)
    for (gint64 i = 0; i < n; i++)
      picture[k * n + i] = (float)((picture[k * n + i] - (self->mean != NULL ? self->mean[k] : 0))
                                   / (self->std != NULL ? self->std[k] : 1));
}

void
loom_augment_preparation (const LoomAugment *self, LoomTensor **shift, LoomTensor **scale)
{
  const gint64 dims[] = { self->channels, 1, 1 };

  if (self->mean != NULL)
    *shift = loom_tensor_new (LOOM_F32, 3, dims, NULL);
  if (self->std != NULL)
    *scale = loom_tensor_new (LOOM_F32, 3, dims, NULL);
  for (gint64 k = 0; k < self->channels; k++)
    {
      if (self->mean != NULL)
        loom_tensor_set (*shift, k, self->mean[k]);
      if (self->std != NULL)
        loom_tensor_set (*scale, k, 1 / self->std[k]);
    }
}

/* The square may extend beyond the picture, as in the paper. */
static void
cut_out (const LoomAugment *self, const Draw *d, float *picture)
{
  const gint64 x0 = d->cut_x - self->cutout / 2, y0 = d->cut_y - self->cutout / 2;

  for (gint64 k = 0; k < self->channels; k++)
    for (gint64 y = MAX (y0, 0); y < MIN (y0 + self->cutout, self->height); y++)
      for (gint64 x = MAX (x0, 0); x < MIN (x0 + self->cutout, self->width); x++)
        picture[(k * self->height + y) * self->width + x] = 0;
}

void
loom_augment_train (const LoomAugment *self, guint64 seed, guint64 epoch, gint64 sample, float *picture, gint64 *mask)
{
  if (self->changes)
    {
      const Draw d = draw (self, seed, epoch, sample);

      move (self, &d, picture);
      if (mask != NULL)
        move_mask (self, &d, mask);
      recolor (self, &d, picture);
      loom_augment_normalize (self, picture);
      cut_out (self, &d, picture);
      return;
    }
  loom_augment_normalize (self, picture);
}
