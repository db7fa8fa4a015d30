/* Implements loom-confusion.h. */
#include "engine/infer/loom-confusion.h"

#include <math.h>

LoomConfusion *
loom_confusion_new (guint n_classes)
{
  LoomConfusion *self = g_new0 (LoomConfusion, 1);

  g_return_val_if_fail (n_classes >= 1 && n_classes <= LOOM_CONFUSION_MOST, self);
  self->n_classes = n_classes;
  self->count = g_new0 (gint64, (gsize)n_classes * n_classes);
  return self;
}

LoomConfusion *
loom_confusion_copy (const LoomConfusion *self)
{
  LoomConfusion *copy = g_memdup2 (self, sizeof *self);

  copy->count = g_memdup2 (self->count, (gsize)self->n_classes * self->n_classes * sizeof *self->count);
  return copy;
}

void
loom_confusion_free (LoomConfusion *self)
{
  if (self == NULL)
    return;
  g_free (self->count);
  g_free (self);
}

void
loom_confusion_add (LoomConfusion *self, guint target, guint predicted)
{
  g_return_if_fail (target < self->n_classes && predicted < self->n_classes);
  self->count[(gsize)target * self->n_classes + predicted]++;
}

gint64
loom_confusion_at (const LoomConfusion *self, guint target, guint predicted)
{
  return self->count[(gsize)target * self->n_classes + predicted];
}

gint64
loom_confusion_row (const LoomConfusion *self, guint target)
{
  gint64 sum = 0;

  for (guint k = 0; k < self->n_classes; k++)
    sum += loom_confusion_at (self, target, k);
  return sum;
}

gint64
loom_confusion_column (const LoomConfusion *self, guint predicted)
{
  gint64 sum = 0;

  for (guint k = 0; k < self->n_classes; k++)
    sum += loom_confusion_at (self, k, predicted);
  return sum;
}

static gint64
total_of (const LoomConfusion *self)
{
  gint64 sum = 0;

  for (guint k = 0; k < self->n_classes; k++)
    sum += loom_confusion_row (self, k);
  return sum;
}

static double
fraction (gint64 part, gint64 whole)
{
  return whole > 0 ? (double)part / (double)whole : NAN;
}

double
loom_confusion_accuracy (const LoomConfusion *self)
{
  gint64 right = 0;

  for (guint k = 0; k < self->n_classes; k++)
    right += loom_confusion_at (self, k, k);
  return fraction (right, total_of (self));
}

double
loom_confusion_recall (const LoomConfusion *self, guint target)
{
  return fraction (loom_confusion_at (self, target, target), loom_confusion_row (self, target));
}

double
loom_confusion_precision (const LoomConfusion *self, guint predicted)
{
  return fraction (loom_confusion_at (self, predicted, predicted), loom_confusion_column (self, predicted));
}

double
loom_confusion_iou (const LoomConfusion *self, guint k)
{
  const gint64 right = loom_confusion_at (self, k, k);

  return fraction (right, loom_confusion_row (self, k) + loom_confusion_column (self, k) - right);
}

double
loom_confusion_mean_iou (const LoomConfusion *self)
{
  double sum = 0;
  guint n = 0;

  for (guint k = 0; k < self->n_classes; k++)
    {
      const double iou = loom_confusion_iou (self, k);

      sum += isnan (iou) ? 0 : iou;
      n += isnan (iou) ? 0 : 1;
    }
  return n > 0 ? sum / n : NAN;
}

gboolean
loom_confusion_is_unbalanced (const LoomConfusion *self, guint *largest, guint *smallest)
{
  guint most = 0, least = 0;

  for (guint k = 1; k < self->n_classes; k++)
    {
      most = loom_confusion_row (self, k) > loom_confusion_row (self, most) ? k : most;
      least = loom_confusion_row (self, k) < loom_confusion_row (self, least) ? k : least;
    }
  if (largest != NULL)
    *largest = most;
  if (smallest != NULL)
    *smallest = least;
  return loom_confusion_row (self, most) > LOOM_BALANCE_RATIO * loom_confusion_row (self, least);
}

void
loom_calibration_add (LoomCalibration *self, double confidence, gboolean is_right)
{
  if (!isfinite (confidence))
    return;
  const int bin = CLAMP ((int)ceil (confidence * LOOM_CALIBRATION_BINS) - 1, 0, LOOM_CALIBRATION_BINS - 1);

  self->count[bin]++;
  self->right[bin] += is_right ? 1 : 0;
  self->confidence[bin] += confidence;
}

double
loom_calibration_error (const LoomCalibration *self)
{
  double sum = 0;
  gint64 n = 0;

  /* |B|/n · |right/|B| − confidence/|B|| = |right − confidence| / n. */
  for (int k = 0; k < LOOM_CALIBRATION_BINS; k++)
    {
      n += self->count[k];
      sum += fabs ((double)self->right[k] - self->confidence[k]);
    }
  return n > 0 ? sum / (double)n : NAN;
}
