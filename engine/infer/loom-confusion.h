/* Counts of predicted and true classes, and the calibration of probabilities: plain sums, with the measures that are
 * derived from them. */
#pragma once

#include <glib.h>

/* The largest number of classes that counts are kept for: 512 × 512 numbers of 8 bytes are 2 MiB. */
#define LOOM_CONFUSION_MOST 512

typedef struct
{
  guint n_classes;
  gint64 *count; /* [true class, predicted class], row major */
} LoomConfusion;

/* n_classes is from 1 to LOOM_CONFUSION_MOST. */
LoomConfusion *loom_confusion_new (guint n_classes);
LoomConfusion *loom_confusion_copy (const LoomConfusion *self);
void loom_confusion_free (LoomConfusion *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomConfusion, loom_confusion_free)

/* Both classes are below n_classes. */
void loom_confusion_add (LoomConfusion *self, guint target, guint predicted);
gint64 loom_confusion_at (const LoomConfusion *self, guint target, guint predicted);
/* The number of samples of a class, and of predictions of it. */
gint64 loom_confusion_row (const LoomConfusion *self, guint target);
gint64 loom_confusion_column (const LoomConfusion *self, guint predicted);
/* The fraction on the diagonal; NaN without samples. */
double loom_confusion_accuracy (const LoomConfusion *self);
/* The fraction of a class's samples that are predicted as it, also called its accuracy; NaN if it has no samples. */
double loom_confusion_recall (const LoomConfusion *self, guint target);
/* The fraction of a class's predictions that are right; NaN if it is never predicted. */
double loom_confusion_precision (const LoomConfusion *self, guint predicted);

/* Intersection over union: right / (samples + predictions − right) of a class; NaN if it has neither. The mean is over
 * the classes that have one, NaN without any: mean IoU, if samples are pixels. */
double loom_confusion_iou (const LoomConfusion *self, guint k);
double loom_confusion_mean_iou (const LoomConfusion *self);

/* Classes are unbalanced if the largest has more than LOOM_BALANCE_RATIO times the samples of the smallest. */
#define LOOM_BALANCE_RATIO 3
/* Sets the classes with the most and the fewest samples, the first of equals; both may be NULL. */
gboolean loom_confusion_is_unbalanced (const LoomConfusion *self, guint *largest, guint *smallest);

/* Confidence and accuracy in bins of equal width: bin k has the confidences in (k/15, (k+1)/15], the first also 0. */
#define LOOM_CALIBRATION_BINS 15

typedef struct
{
  gint64 count[LOOM_CALIBRATION_BINS], right[LOOM_CALIBRATION_BINS];
  double confidence[LOOM_CALIBRATION_BINS]; /* sums */
} LoomCalibration;

/* confidence: the probability of the predicted class. Confidences that are not finite are left out. */
void loom_calibration_add (LoomCalibration *self, double confidence, gboolean is_right);
/* The expected calibration error Σ |B|/n · |acc(B) − conf(B)| over the bins B (Guo, Pleiss, Sun, Weinberger, “On
 * Calibration of Modern Neural Networks”, 2017, equation 3), from 0 to 1; NaN without samples. */
double loom_calibration_error (const LoomCalibration *self);
