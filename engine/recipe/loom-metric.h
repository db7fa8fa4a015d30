/* Metrics: values that are reported in addition to the loss, one descriptor each.
 *
 * A metric is computed inside the program, as one more output of the step, so it costs no work on the host. It emits
 * statistics of the batch, usually a sum; those of an epoch's batches are merged in f64, and the value is computed from
 * the result, because the precision or R² of an epoch is no mean over its batches. */
#pragma once

#include "engine/program/loom-prim.h"

typedef enum
{
  LOOM_AVERAGE_MACRO, /* the mean over classes that occur */
  LOOM_AVERAGE_MICRO, /* over all samples of all classes */
  LOOM_AVERAGE_BINARY /* of class 1 of two */
} LoomAverage;

typedef struct
{
  gint64 k;
  LoomAverage average;
  double threshold; /* a single logit above it means class 1 */
} LoomMetricOptions;

/* The options of a metric. */
typedef enum
{
  LOOM_METRIC_K = 1 << 0,
  LOOM_METRIC_AVERAGE = 1 << 1,
  LOOM_METRIC_THRESHOLD = 1 << 2
} LoomMetricTakes;

typedef struct
{
  const char *name, *alias; /* <metric type="…"/>; alias may be NULL */
  const char *doc;
  gboolean higher_is_better;
  gboolean of_scores; /* depends on the class with the largest logit */
  gboolean is_matrix; /* the statistics are n × n counts, which are shown as a table; the value is the fraction on the
                         diagonal */
  LoomMetricTakes takes;
  /* TRUE if it can be computed for these operands; otherwise *why is the reason, to be freed. */
  gboolean (*check) (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target,
                     char **why);
  /* The number of statistics; NULL: one. */
  guint (*size) (const LoomTensorDesc *input, const LoomTensorDesc *target);
  /* Emits the batch's statistics in the program's float type: rank 0 if there is one, else rank 1. */
  LoomValue (*emit) (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target);
  /* The number of elements in a batch's sum: its weight. */
  gint64 (*count) (const LoomTensorDesc *input, const LoomTensorDesc *target);
  /* Merges a batch's statistics into the total; total_weight is the weight before. NULL: adds them. */
  void (*merge) (double *total, double total_weight, const double *batch, double batch_weight, guint size);
  /* Computes the value of an epoch. NULL: the sum divided by the weight. */
  double (*finish) (const LoomMetricOptions *options, const double *total, guint size, double weight);
} LoomMetric;

extern const LoomMetric loom_metric_precision, loom_metric_recall, loom_metric_f1, loom_metric_mean_iou,
    loom_metric_confusion_matrix, loom_metric_bleu;

const LoomMetric *const *loom_metrics (void); /* NULL-terminated */
const LoomMetric *loom_metric (const char *name);

guint loom_metric_size (const LoomMetric *metric, const LoomTensorDesc *input, const LoomTensorDesc *target);
void loom_metric_merge (const LoomMetric *metric, double *total, double *total_weight, const double *batch,
                        double batch_weight, guint size);
double loom_metric_value (const LoomMetric *metric, const LoomMetricOptions *options, const double *total, guint size,
                          double weight);

/* ---- shared by metrics of classes --------------------------------------- */

/* input is logits (N, C, d…) or, if it has the target's shape, one logit per element; target is class indices (N, d…).
 */
gboolean loom_metric_check_classes (const LoomMetricOptions *options, const LoomTensorDesc *input,
                                    const LoomTensorDesc *target, char **why);
guint loom_metric_n_classes (const LoomTensorDesc *input, const LoomTensorDesc *target);
/* The predicted and the target class of each sample, both i64 (rows, 1). */
void loom_metric_decide (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target,
                         LoomValue *given, LoomValue *own);
gint64 loom_metric_count_target (const LoomTensorDesc *input, const LoomTensorDesc *target);
