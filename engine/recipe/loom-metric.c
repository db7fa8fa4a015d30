/* The table of metrics, and the metrics that are means or similar. Checks of files, the program of a step and Studio's
 * curves use this table, so a new metric is one entry with its functions. Metrics that count per class are in
 * metric-classes.c. */
#include "engine/recipe/loom-metric.h"

#include <math.h>

static char *
desc_to_string (const LoomTensorDesc *d)
{
  LoomShape s = loom_shape (d->rank, (const gint64 *)d->dim);
  return loom_shape_to_string (&s);
}

/* input is (N, C, d…), target (N, d…). */
static gboolean
are_scores (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  gboolean fits = input->rank >= 2 && target->rank == input->rank - 1 && !loom_dtype_is_float (target->dtype)
                  && target->dim[0] == input->dim[0];
  for (int i = 1; fits && i < target->rank; i++)
    fits = target->dim[i] == input->dim[i + 1];
  return fits;
}

static gboolean
are_alike (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  gboolean fits = input->rank == target->rank;
  for (int i = 0; fits && i < input->rank; i++)
    fits = input->dim[i] == target->dim[i];
  return fits;
}

static gboolean
refuse (const char *what, const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  g_autofree char *a = desc_to_string (input), *b = desc_to_string (target);
  *why = g_strdup_printf ("%s, but the input is %s and the target is %s %s", what, a, loom_dtype_name (target->dtype),
                          b);
  return FALSE;
}

/* ---- classes ---------------------------------------------------------- */

gboolean
loom_metric_check_classes (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target,
                           char **why)
{
  if (are_scores (input, target) || (are_alike (input, target) && loom_dtype_is_float (input->dtype)))
    return TRUE;
  return refuse ("it compares logits of shape N × C × … with class indices of shape N × …, or one logit with each "
                 "element of the target",
                 input, target, why);
}

guint
loom_metric_n_classes (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return are_scores (input, target) ? (guint)input->dim[1] : 2;
}

gint64
loom_metric_count_target (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return (gint64)loom_desc_count (target);
}

void
loom_metric_decide (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target,
                    LoomValue *given, LoomValue *own)
{
  LoomTensorDesc x = loom_value_info (p, input)->desc, t = loom_value_info (p, target)->desc;
  const gint64 rows[2] = { (gint64)loom_desc_count (&t), 1 };

  if (are_scores (&x, &t))
    {
      LoomArgReduceAttrs attrs = { .largest = true, .axis = 1 };
      *given = loom_emit (p, loom_prim ("argreduce"), &attrs, 1, &input, NULL);
    }
  else
    *given
        = loom_cast (p, loom_binary (p, LOOM_SCALAR_GT, input, loom_const (p, x.dtype, options->threshold)), LOOM_I64);
  *given = loom_reshape (p, *given, 2, rows);
  *own = loom_reshape (p, loom_cast (p, target, LOOM_I64), 2, rows);
}

/* Targets below 0 are ignored, as in cross-entropy. */
static guint
size_accuracy (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return loom_dtype_is_float (target->dtype) || target->dtype == LOOM_BOOL ? 1 : 2;
}

/* The number of targets that are not ignored, [1]. */
static LoomValue
count_classes (LoomProgram *p, LoomValue own)
{
  const gint64 one = 1;
  LoomValue counts = loom_binary (p, LOOM_SCALAR_GE, own, loom_const (p, LOOM_I64, 0));

  return loom_reshape (p, loom_sum_all (p, loom_cast (p, counts, loom_program_get_float (p))), 1, &one);
}

/* The number of correct predictions, and the number of targets. */
static LoomValue
emit_accuracy (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  const LoomTensorDesc x = loom_value_info (p, input)->desc, t = loom_value_info (p, target)->desc;
  const LoomDType f = loom_program_get_float (p);
  const gint64 one = 1;
  LoomValue given, own, part[2];

  loom_metric_decide (p, options, input, target, &given, &own);
  part[0] = loom_sum_all (p, loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, given, own), f));
  if (size_accuracy (&x, &t) == 1)
    return part[0];
  part[1] = count_classes (p, own);
  part[0] = loom_reshape (p, part[0], 1, &one);
  return loom_concat (p, 2, part, 0);
}

static double
finish_accuracy (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  const double all = size == 2 ? total[1] : weight;

  return all > 0 ? total[0] / all : 0;
}

static gboolean
check_top_k (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  if (!are_scores (input, target))
    return refuse ("it compares logits of shape N × C × … with class indices of shape N × …", input, target, why);
  if (options->k <= input->dim[1])
    return TRUE;
  *why = g_strdup_printf ("k is %" G_GINT64_FORMAT ", but the input has only %d classes", options->k,
                          (int)input->dim[1]);
  return FALSE;
}

/* A hit if fewer than k classes rank before the target class; of equal logits the lower class index ranks first, as in
 * accuracy. The logit of the target class is a sum over one class, so a target outside of the classes is no hit. */
static LoomValue
emit_top_k (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  LoomTensorDesc x = loom_value_info (p, input)->desc;
  LoomDType f = loom_program_get_float (p);
  LoomIotaTo count = { .kernel = { .axis = 1, .step = 1 }, .dtype = LOOM_I64, .to.rank = x.rank };
  gint64 one[LOOM_MAX_RANK];

  for (int i = 0; i < x.rank; i++)
    {
      count.to.dim[i] = i == 1 ? x.dim[1] : 1;
      one[i] = i == 1 ? 1 : x.dim[i];
    }
  LoomValue number = loom_emit (p, loom_prim ("iota"), &count, 0, NULL, NULL);
  LoomValue own = loom_reshape (p, loom_cast (p, target, LOOM_I64), x.rank, one);
  LoomValue is = loom_binary (p, LOOM_SCALAR_EQ, number, own);
  LoomValue score = loom_reduce (
      p, LOOM_REDUCE_SUM, loom_ternary (p, LOOM_SCALAR_SELECT, is, input, loom_const (p, x.dtype, 0)), 1u << 1, TRUE);
  LoomValue more = loom_cast (p, loom_binary (p, LOOM_SCALAR_GT, input, score), f);
  LoomValue same = loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, input, score), f);
  LoomValue lower = loom_cast (p, loom_binary (p, LOOM_SCALAR_LT, number, own), f);
  LoomValue before = loom_binary (p, LOOM_SCALAR_ADD, more, loom_binary (p, LOOM_SCALAR_MUL, same, lower));
  LoomValue hit = loom_binary (p, LOOM_SCALAR_LT, loom_reduce (p, LOOM_REDUCE_SUM, before, 1u << 1, TRUE),
                               loom_const (p, f, (double)options->k));
  LoomValue there = loom_reduce (p, LOOM_REDUCE_SUM, loom_cast (p, is, f), 1u << 1, TRUE);
  LoomValue hits = loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, loom_cast (p, hit, f), there));
  LoomValue part[2] = { loom_reshape (p, hits, 1, (gint64[]){ 1 }), count_classes (p, own) };

  return loom_concat (p, 2, part, 0);
}

/* ---- perplexity ------------------------------------------------------- */

static gboolean
check_perplexity (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target,
                  char **why)
{
  return (are_scores (input, target) && loom_dtype_is_float (input->dtype))
         || refuse ("it takes logits of shape N × C × … and class indices of shape N × …", input, target, why);
}

static guint
size_perplexity (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return 2;
}

/* Σ -log softmax of the target class, and the number of targets; those below 0 are ignored. */
static LoomValue
emit_perplexity (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  const LoomCrossEntropyAttrs attrs = { .ignore_index = -100 };
  const gint64 one = 1;
  LoomDType f = loom_program_get_float (p);
  LoomValue own = loom_cast (p, target, LOOM_I64);
  LoomValue out = loom_binary (p, LOOM_SCALAR_LT, own, loom_const (p, LOOM_I64, 0));
  LoomValue in[2] = { input, loom_ternary (p, LOOM_SCALAR_SELECT, out, loom_const (p, LOOM_I64, -100), own) };
  LoomValue loss[2], part[2];

  loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, in, loss);
  part[0] = loom_reshape (p, loom_cast (p, loom_sum_all (p, loss[0]), f), 1, &one);
  part[1] = count_classes (p, own);
  return loom_concat (p, 2, part, 0);
}

static double
finish_perplexity (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  return exp (total[0] / total[1]);
}

/* ---- numbers ---------------------------------------------------------- */

static gboolean
check_same_shape (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target,
                  char **why)
{
  return are_alike (input, target) || refuse ("it compares element by element", input, target, why);
}

static LoomValue
difference (LoomProgram *p, LoomValue input, LoomValue target)
{
  LoomDType f = loom_program_get_float (p);
  return loom_binary (p, LOOM_SCALAR_SUB, loom_cast (p, input, f), loom_cast (p, target, f));
}

static LoomValue
emit_mae (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  return loom_sum_all (p, loom_unary (p, LOOM_SCALAR_ABS, difference (p, input, target)));
}

static LoomValue
emit_mse (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  LoomValue d = difference (p, input, target);
  return loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, d, d));
}

/* with more columns, the output is no regression */
#define MAX_COLUMNS 4096

/* The values of one sample. */
static gint64
columns (const LoomTensorDesc *d)
{
  gint64 n = 1;

  for (int i = 1; i < d->rank; i++)
    n *= d->dim[i];
  return n;
}

static gboolean
check_r2 (const LoomMetricOptions *options, const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  if (!are_alike (input, target) || input->rank < 1)
    return refuse ("it compares element by element", input, target, why);
  if (columns (input) >= 1 && columns (input) <= MAX_COLUMNS)
    return TRUE;
  *why = g_strdup_printf ("a sample has %d numbers, but it takes from 1 to %d", (int)columns (input), MAX_COLUMNS);
  return FALSE;
}

static guint
size_r2 (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return 3 * (guint)columns (input);
}

static gint64
count_rows (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return target->dim[0];
}

/* For each column Σ (y - ŷ)², the mean of y, and Σ (y - mean)²: sums of squares would cancel if the mean is large. */
static LoomValue
emit_r2 (LoomProgram *p, const LoomMetricOptions *options, LoomValue input, LoomValue target)
{
  LoomTensorDesc t = loom_value_info (p, target)->desc;
  LoomDType f = loom_program_get_float (p);
  const gint64 dims[2] = { t.dim[0], columns (&t) };
  LoomValue y = loom_cast (p, loom_reshape (p, target, 2, dims), f);
  LoomValue d = difference (p, loom_reshape (p, input, 2, dims), y), part[3], off;

  part[0] = loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, d, d), 1, FALSE);
  part[1] = loom_binary (p, LOOM_SCALAR_MUL, loom_reduce (p, LOOM_REDUCE_SUM, y, 1, FALSE),
                         loom_const (p, f, 1.0 / (double)dims[0]));
  off = loom_binary (p, LOOM_SCALAR_SUB, y, loom_reshape (p, part[1], 2, (const gint64[]){ 1, dims[1] }));
  part[2] = loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, off, off), 1, FALSE);
  return loom_concat (p, 3, part, 0);
}

/* Chan, Golub and LeVeque (1983), formula 2.1. */
static void
merge_r2 (double *total, double total_weight, const double *batch, double batch_weight, guint size)
{
  guint n = size / 3;
  double all = total_weight + batch_weight;

  for (guint i = 0; i < n; i++)
    {
      double off = batch[n + i] - total[n + i];

      total[i] += batch[i];
      total[n + i] += off * batch_weight / all;
      total[2 * n + i] += batch[2 * n + i] + off * off * total_weight * batch_weight / all;
    }
}

static double
finish_r2 (const LoomMetricOptions *options, const double *total, guint size, double weight)
{
  guint n = size / 3;
  double sum = 0;

  for (guint i = 0; i < n; i++)
    {
      double rest = total[i], all = total[2 * n + i];

      sum += all > 0 ? 1 - rest / all : rest == 0 ? 1 : all == 0 ? 0 : NAN;
    }
  return sum / n;
}

/* ---- the table -------------------------------------------------------- */

static const LoomMetric accuracy = {
  .name = "accuracy",
  .doc = "The fraction of samples whose largest logit is that of the right class; targets below 0 are ignored.",
  .higher_is_better = TRUE,
  .of_scores = TRUE,
  .takes = LOOM_METRIC_THRESHOLD,
  .check = loom_metric_check_classes,
  .size = size_accuracy,
  .emit = emit_accuracy,
  .count = loom_metric_count_target,
  .finish = finish_accuracy,
};

static const LoomMetric top_k_accuracy = {
  .name = "top_k_accuracy",
  .doc = "The fraction of samples whose right class is among the k largest logits.",
  .higher_is_better = TRUE,
  .of_scores = TRUE,
  .takes = LOOM_METRIC_K,
  .check = check_top_k,
  .size = size_accuracy,
  .finish = finish_accuracy,
  .emit = emit_top_k,
  .count = loom_metric_count_target,
};

static const LoomMetric perplexity = {
  .name = "perplexity",
  .doc = "exp of the mean cross entropy: the number of equally likely tokens to which the prediction is equivalent.",
  .check = check_perplexity,
  .size = size_perplexity,
  .emit = emit_perplexity,
  .count = loom_metric_count_target,
  .finish = finish_perplexity,
};

static const LoomMetric mae = {
  .name = "mean_absolute_error",
  .alias = "mae",
  .doc = "The mean of the absolute differences between input and target.",
  .check = check_same_shape,
  .emit = emit_mae,
  .count = loom_metric_count_target,
};

static const LoomMetric mse = {
  .name = "mean_squared_error",
  .alias = "mse",
  .doc = "The mean of the squared differences between input and target.",
  .check = check_same_shape,
  .emit = emit_mse,
  .count = loom_metric_count_target,
};

static const LoomMetric r2 = {
  .name = "r2_score",
  .alias = "r2",
  .doc = "The coefficient of determination, averaged over columns: 1 if predictions are exact, 0 if they are as good "
         "as the target's mean.",
  .higher_is_better = TRUE,
  .check = check_r2,
  .size = size_r2,
  .emit = emit_r2,
  .count = count_rows,
  .merge = merge_r2,
  .finish = finish_r2,
};

static const LoomMetric *const metrics[] = { &accuracy,
                                             &top_k_accuracy,
                                             &loom_metric_precision,
                                             &loom_metric_recall,
                                             &loom_metric_f1,
                                             &loom_metric_mean_iou,
                                             &loom_metric_confusion_matrix,
                                             &perplexity,
                                             &loom_metric_bleu,
                                             &mae,
                                             &mse,
                                             &r2,
                                             NULL };

const LoomMetric *const *
loom_metrics (void)
{
  return metrics;
}

const LoomMetric *
loom_metric (const char *name)
{
  for (guint i = 0; metrics[i] != NULL; i++)
    if (g_strcmp0 (metrics[i]->name, name) == 0
        || (metrics[i]->alias != NULL && g_strcmp0 (metrics[i]->alias, name) == 0))
      return metrics[i];
  return NULL;
}

guint
loom_metric_size (const LoomMetric *metric, const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return metric->size != NULL ? metric->size (input, target) : 1;
}

void
loom_metric_merge (const LoomMetric *metric, double *total, double *total_weight, const double *batch,
                   double batch_weight, guint size)
{
  if (metric->merge != NULL)
    metric->merge (total, *total_weight, batch, batch_weight, size);
  else
    for (guint i = 0; i < size; i++)
      total[i] += batch[i];
  *total_weight += batch_weight;
}

double
loom_metric_value (const LoomMetric *metric, const LoomMetricOptions *options, const double *total, guint size,
                   double weight)
{
  return metric->finish != NULL ? metric->finish (options, total, size, weight) : total[0] / weight;
}
