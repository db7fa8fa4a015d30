/* Metrics that count per class: precision, recall, F1, intersection over union and the confusion matrix.
 *
 * The first four need only the numbers of correct, predicted and actual samples of each class; the matrix is computed
 * on request, as a product of two one-hot matrices. */
#include "engine/recipe/loom-metric.h"

#define MAX_CLASSES 256 /* of a matrix: its n² counts are read back after each step */

/* One-hot encoding: (rows, 1) class indices to (rows, C). */
static LoomValue
one_hot (LoomProgram *p, LoomValue number, guint n)
{
  LoomIotaTo count = { .kernel = { .axis = 1, .step = 1 }, .dtype = LOOM_I64, .to = { 2, { 1, n } } };
  LoomValue all = loom_emit (p, loom_prim ("iota"), &count, 0, NULL, NULL);

  return loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, number, all), loom_program_get_float (p));
}

static void
tables (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target, LoomValue *predicted,
        LoomValue *actual)
{
  LoomTensorDesc x = loom_value_info (p, input)->desc, t = loom_value_info (p, target)->desc;
  guint n = loom_metric_n_classes (&x, &t);

  loom_metric_decide (p, options, input, target, predicted, actual);
  /* Predictions for targets below 0 are ignored, as in accuracy. */
  *predicted
      = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GE, *actual, loom_const (p, LOOM_I64, 0)),
                      *predicted, loom_const (p, LOOM_I64, -1));
  *predicted = one_hot (p, *predicted, n);
  *actual = one_hot (p, *actual, n);
}

/* ---- precision, recall, F1 -------------------------------------------- */

static gboolean
check_counts (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  guint n;

  if (!loom_metric_check_classes (options, input, target, why))
    return FALSE;
  n = loom_metric_n_classes (input, target);
  if (options->average != LOOM_AVERAGE_BINARY || n == 2)
    return TRUE;
  *why = g_strdup_printf ("average=\"binary\" needs two classes, but the input has %u; use macro or micro", n);
  return FALSE;
}

static guint
size_counts (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return 3 * loom_metric_n_classes (input, target);
}

/* Counts of each class: correct, predicted, actual. */
static LoomValue
emit_counts (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  LoomValue predicted, actual, part[3];

  tables (p, options, input, target, &predicted, &actual);
  part[0] = loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, predicted, actual), 1, FALSE);
  part[1] = loom_reduce (p, LOOM_REDUCE_SUM, predicted, 1, FALSE);
  part[2] = loom_reduce (p, LOOM_REDUCE_SUM, actual, 1, FALSE);
  return loom_concat (p, 3, part, 0);
}

/* A ratio with the denominator 0 is 0, as in scikit-learn. */
static double
share (double part, double whole)
{
  return whole > 0 ? part / whole : 0;
}

/* The weights of a class's counts in a ratio: scale · correct / (predicted + actual − correct), each weighted. */
typedef struct
{
  double scale, predicted, actual, right;
} Ratio;

static double
average (const LoomMetricOptions *options, const double *total, guint size, Ratio of)
{
  guint n = size / 3, seen = 0;
  const double *right = total, *predicted = total + n, *actual = total + 2 * n;
  double sum = 0, below = 0;

  if (options->average == LOOM_AVERAGE_BINARY)
    return share (of.scale * right[1], of.predicted * predicted[1] + of.actual * actual[1] - of.right * right[1]);
  for (guint i = 0; i < n; i++)
    {
      double whole = of.predicted * predicted[i] + of.actual * actual[i] - of.right * right[i];

      sum += options->average == LOOM_AVERAGE_MICRO ? of.scale * right[i] : share (of.scale * right[i], whole);
      below += whole;
      seen += predicted[i] + actual[i] > 0;
    }
  return share (sum, options->average == LOOM_AVERAGE_MICRO ? below : seen);
}

static double
finish_precision (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  return average (options, total, size, (Ratio){ 1, 1, 0, 0 });
}

static double
finish_recall (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  return average (options, total, size, (Ratio){ 1, 0, 1, 0 });
}

static double
finish_f1 (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  return average (options, total, size, (Ratio){ 2, 1, 1, 0 });
}

static double
finish_iou (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  return average (options, total, size, (Ratio){ 1, 1, 1, 1 });
}

/* ---- the confusion matrix --------------------------------------------- */

static gboolean
check_matrix (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  guint n;

  if (!loom_metric_check_classes (options, input, target, why))
    return FALSE;
  n = loom_metric_n_classes (input, target);
  if (n <= MAX_CLASSES)
    return TRUE;
  *why = g_strdup_printf ("it counts pairs of at most %d classes, but the input has %u", MAX_CLASSES, n);
  return FALSE;
}

static guint
size_matrix (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  guint n = loom_metric_n_classes (input, target);

  return n * n;
}

/* Row: the actual class; column: the predicted one. */
static LoomValue
emit_matrix (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  LoomTensorDesc x = loom_value_info (p, input)->desc, t = loom_value_info (p, target)->desc;
  const gint64 size = size_matrix (&x, &t);
  LoomValue predicted, actual;

  tables (p, options, input, target, &predicted, &actual);
  return loom_reshape (p, loom_matmul (p, actual, predicted, TRUE, FALSE), 1, &size);
}

static double
finish_matrix (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  double right = 0;

  for (guint n = 1; n <= MAX_CLASSES; n++)
    if (n * n == size)
      for (guint i = 0; i < n; i++)
        right += total[i * n + i];
  return right / weight;
}

const LoomMetric loom_metric_precision = {
  .name = "precision",
  .doc = "True positives divided by all samples that are predicted as the class.",
  .higher_is_better = TRUE,
  .takes = LOOM_METRIC_AVERAGE | LOOM_METRIC_THRESHOLD,
  .check = check_counts,
  .size = size_counts,
  .emit = emit_counts,
  .count = loom_metric_count_target,
  .finish = finish_precision,
};

const LoomMetric loom_metric_recall = {
  .name = "recall",
  .doc = "True positives divided by all samples of the class.",
  .higher_is_better = TRUE,
  .takes = LOOM_METRIC_AVERAGE | LOOM_METRIC_THRESHOLD,
  .check = check_counts,
  .size = size_counts,
  .emit = emit_counts,
  .count = loom_metric_count_target,
  .finish = finish_recall,
};

const LoomMetric loom_metric_f1 = {
  .name = "f1",
  .doc = "The harmonic mean of the precision and recall of each class.",
  .higher_is_better = TRUE,
  .takes = LOOM_METRIC_AVERAGE | LOOM_METRIC_THRESHOLD,
  .check = check_counts,
  .size = size_counts,
  .emit = emit_counts,
  .count = loom_metric_count_target,
  .finish = finish_f1,
};

/* Everingham et al., "The PASCAL visual object classes challenge", 2010, section 4.3; over all pixels of the split, as
 * torchvision's references count them. */
const LoomMetric loom_metric_mean_iou = {
  .name = "mean_iou",
  .alias = "jaccard_index",
  .doc
  = "The intersection of predicted and actual samples (pixels) of each class divided by their union, over the whole "
    "split; targets below 0 are ignored.",
  .higher_is_better = TRUE,
  .takes = LOOM_METRIC_AVERAGE | LOOM_METRIC_THRESHOLD,
  .check = check_counts,
  .size = size_counts,
  .emit = emit_counts,
  .count = loom_metric_count_target,
  .finish = finish_iou,
};

const LoomMetric loom_metric_confusion_matrix = {
  .name = "confusion_matrix",
  .doc = "The number of samples of each class (row) that are predicted as each class (column). Charts show accuracy, "
         "the fraction on the diagonal.",
  .higher_is_better = TRUE,
  .is_matrix = TRUE,
  .takes = LOOM_METRIC_THRESHOLD,
  .check = check_matrix,
  .size = size_matrix,
  .emit = emit_matrix,
  .count = loom_metric_count_target,
  .finish = finish_matrix,
};
