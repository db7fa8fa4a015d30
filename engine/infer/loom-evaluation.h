/* The predictions of a trained net for all samples of a split, one record per sample, with the counts and curves that
 * `gradloom eval --confusion` prints and Studio shows. */
#pragma once

#include "engine/infer/loom-confusion.h"
#include "engine/infer/loom-predictor.h"

G_BEGIN_DECLS

/* One sample. Of classes: target and predicted are class indices, probability is that of the predicted class (NaN for
 * logits without probabilities), and loss is −log p(target) in nats. If a sample has a class at each of several
 * positions, loss is their mean, and the other members are those of the position with the largest loss. Of logits
 * without probabilities loss is the largest logit minus the target's. Of values: target and predicted are the first
 * number, probability is NaN, and loss is the mean squared error over all numbers. Class weights, label smoothing and
 * regularisation, which belong to training, have no part in it. */
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
  LoomConfusion *confusion; /* NULL: values, or more than LOOM_CONFUSION_MOST classes */
  LoomCalibration calibration;
} LoomEvaluation;

/* Called after each batch; FALSE ends the evaluation with CANCELLED. */
typedef gboolean (*LoomEvaluationProgress) (gint64 done, gint64 all, gpointer data);

/* Evaluates `most` samples of a split, spread evenly over it (0: all), in batches of `batch` samples. progress may be
 * NULL. Training samples are read without augmentation. Positions whose target is no class, such as padding, are left
 * out. For a text only the last position counts. Errors: DATA if the split is empty or the data cannot be read; PORT if
 * the net has no target, or writes token by token; SHAPE if predictions and targets do not match; those of
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
/* Indices into samples, guint, by descending loss: the wrong ones, or for values all. (transfer full) */
GArray *loom_evaluation_mistakes (const LoomEvaluation *self);
/* Indices of the samples with this target and prediction, by descending loss. (transfer full) */
GArray *loom_evaluation_cell (const LoomEvaluation *self, guint target, guint predicted);
/* The name of a class, else its number. (transfer full) */
char *loom_evaluation_class_name (const LoomEvaluation *self, guint k);

/* The split that evaluations use by default: test, else validation, else training. */
LoomSplit loom_evaluation_default_split (const LoomPredictor *predictor);

G_END_DECLS
