/* The predictions of a trained net for all samples of a split, one record per sample, with the counts and curves that
 * `gradloom eval --confusion` prints and Studio shows. */
#pragma once

#include "engine/infer/loom-average-precision.h"
#include "engine/infer/loom-confusion.h"
#include "engine/infer/loom-predictor.h"

/* One sample. Of classes: target and predicted are class indices, probability is that of the predicted class (NaN for
 * logits without probabilities), and loss is −log p(target) in nats. If a sample has a class at each of several
 * positions, loss is their mean, and the other members are those of the position with the largest loss, of the wrong
 * ones if there are any. A net that writes token by token reads the right prefix, as in training. Of logits
 * without probabilities loss is the largest logit minus the target's. Of sequences of labels (ctc_loss): loss is the
 * edit distance (Levenshtein) over the length of the target, target its first label, and predicted that label if all
 * are right, else the blank. Of values: target and predicted are the first number, probability is NaN, and loss is the
 * mean squared error over all numbers. Class weights, label smoothing and regularisation, which belong to training,
 * have no part in it. */
typedef struct
{
  gint64 index; /* in the split */
  double target, predicted, probability, loss;
} LoomEvaluatedSample;

typedef struct
{
  LoomSplit split;
  gint64 n_split;    /* samples of the split */
  gboolean is_whole; /* all of them were evaluated; `samples` lacks those that are only padding */
  LoomAnswerKind kind;
  guint n_classes;          /* 0: values; of yes and no 2 */
  char **class_names;       /* NULL: none */
  GArray *samples;          /* LoomEvaluatedSample, in the order of the split */
  gint64 positions, right;  /* of classes: compared positions, and those predicted correctly */
  double loss;              /* the mean over samples */
  gint64 ignored;           /* a class that is not compared, of the loss's ignore_index; -1: none */
  gboolean is_map;          /* of classes: a position is a pixel, so that the confusion has intersections over unions */
  gboolean is_sequence;     /* samples are sequences of labels, each a position, and right as a whole */
  gint64 labels, edits;     /* of sequences: labels of targets, and those to insert, remove and replace */
  double *mean, *square;    /* of values: for each number its mean and the sum of its squared deviations; NULL: none */
  gint64 n_values;          /* of values: numbers of a sample */
  double residual, error;   /* of values: the sums of squared and of absolute errors */
  LoomConfusion *confusion; /* NULL: values, or more than LOOM_CONFUSION_MOST classes */
  LoomCalibration calibration;
  /* Of detections, [K,6] numbers x1, y1, x2, y2, score and class, with a data set of boxes; NULL: others. A sample's
   * target is then its number of boxes, predicted that of detections with a score of at least 0.5, and its loss one
   * minus the mean, over its boxes, of the largest IoU with a detection of their class and such a score. */
  LoomAveragePrecision *detection;
} LoomEvaluation;

/* Called after each batch; FALSE ends the evaluation with CANCELLED. */
typedef gboolean (*LoomEvaluationProgress) (gint64 done, gint64 all, gpointer data);

/* Evaluates `most` samples of a split, spread evenly over it (0: all), in batches of `batch` samples. progress may be
 * NULL. Training samples are read without augmentation. Positions whose target is no class, such as padding, or is the
 * loss's ignore_index are left out. Errors: DATA if the split is empty or the data cannot be read; PORT if
 * the net has no target; SHAPE if predictions and targets do not match; those of
 * loom_predictor_run(). (transfer full) */
LoomEvaluation *loom_evaluation_run (LoomPredictor *predictor, LoomSplit split, gint64 most, guint batch,
                                     LoomEvaluationProgress progress, gpointer data, GError **error);
void loom_evaluation_free (LoomEvaluation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomEvaluation, loom_evaluation_free)

/* An evaluation without samples, and the record of one sample: the two parts of loom_evaluation_run() that need no net.
 * target: the numbers of the sample's target. SHAPE if they do not match the prediction. */
LoomEvaluation *loom_evaluation_new (LoomSplit split, LoomAnswerKind kind, guint n_classes);
gboolean loom_evaluation_add (LoomEvaluation *self, gint64 index, const LoomAnswer *answer, const double *target,
                              gint64 n_target, GError **error);

/* The fraction of correct positions; NaN for values. */
double loom_evaluation_accuracy (const LoomEvaluation *self);
/* Of values: the mean absolute error, and R² = 1 − Σ(y − ŷ)² / Σ(y − ȳ)² with the mean ȳ of each number of a sample, as
 * sklearn.metrics.r2_score with multioutput="variance_weighted". NaN of classes, and R² of equal targets. */
double loom_evaluation_mae (const LoomEvaluation *self);
double loom_evaluation_r2 (const LoomEvaluation *self);
/* Indices into samples, guint, by descending loss: the wrong ones, or for values all. (transfer full) */
GArray *loom_evaluation_mistakes (const LoomEvaluation *self);
/* Indices of the samples with this target and prediction, by descending loss. (transfer full) */
GArray *loom_evaluation_cell (const LoomEvaluation *self, guint target, guint predicted);
/* The name of a class, else its number. (transfer full) */
char *loom_evaluation_class_name (const LoomEvaluation *self, guint k);

/* The split that evaluations use by default: test, else validation, else training. */
LoomSplit loom_evaluation_default_split (const LoomPredictor *predictor);
