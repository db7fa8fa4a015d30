/* Sums of a run's metrics over batches. */
#include "engine/train/metric-sums.h"

#include <math.h>
#include <string.h>

MetricSums *
metric_sums_new (const LoomTrainSpec *spec, const LoomStep *step)
{
  MetricSums *m = g_new0 (MetricSums, 1);
  guint all = 0, most = 1;

  m->spec = spec;
  m->n = step->n_metrics;
  m->size = g_new0 (guint, m->n + 1);
  m->at = g_new0 (guint, m->n + 1);
  m->weight = g_new0 (double, m->n + 1);
  for (guint i = 0; i < m->n; i++)
    {
      m->size[i] = step->metric_size[i];
      m->at[i] = all;
      all += m->size[i];
      most = MAX (most, m->size[i]);
    }
  m->total = g_new0 (double, all + 1);
  m->batch = g_new0 (double, most);
  return m;
}

void
metric_sums_free (MetricSums *m)
{
  if (m == NULL)
    return;
  g_free (m->size);
  g_free (m->at);
  g_free (m->total);
  g_free (m->weight);
  g_free (m->batch);
  g_free (m);
}

void
metric_sums_clear (MetricSums *m)
{
  for (guint i = 0; i < m->n; i++)
    {
      m->weight[i] = 0;
      for (guint k = 0; k < m->size[i]; k++)
        m->total[m->at[i] + k] = 0;
    }
}

/* The statistics of all metrics. */
static guint
n_totals (const MetricSums *m)
{
  return m->n > 0 ? m->at[m->n - 1] + m->size[m->n - 1] : 0;
}

guint
metric_sums_count (const MetricSums *m)
{
  return n_totals (m) + m->n;
}

void
metric_sums_save (const MetricSums *m, double *sums)
{
  memcpy (sums, m->total, n_totals (m) * sizeof *sums);
  memcpy (sums + n_totals (m), m->weight, m->n * sizeof *sums);
}

void
metric_sums_load (MetricSums *m, const double *sums)
{
  memcpy (m->total, sums, n_totals (m) * sizeof *sums);
  memcpy (m->weight, sums + n_totals (m), m->n * sizeof *sums);
}

static const LoomMetricSpec *
spec_of (const MetricSums *m, guint i)
{
  return m->spec->metrics->pdata[i];
}

gboolean
metric_sums_add (MetricSums *m, StepPlan *plan, GError **error)
{
  for (guint i = 0; i < m->n; i++)
    {
      if (!loom_exec_numbers (plan->exec, plan->metric[i], m->size[i], m->batch, error))
        {
          g_prefix_error (error, "Metric “%s”: ", spec_of (m, i)->name);
          return FALSE;
        }
      loom_metric_merge (spec_of (m, i)->metric, m->total + m->at[i], &m->weight[i], m->batch,
                         (double)plan->step->metric_count[i], m->size[i]);
    }
  return TRUE;
}

static void
merge (MetricSums *m, const double *total, const double *weight)
{
  for (guint i = 0; i < m->n; i++)
    loom_metric_merge (spec_of (m, i)->metric, m->total + m->at[i], &m->weight[i], total + m->at[i], weight[i],
                       m->size[i]);
}

void
metric_sums_merge (MetricSums *m, const MetricSums *other)
{
  merge (m, other->total, other->weight);
}

void
metric_sums_merge_saved (MetricSums *m, const double *sums)
{
  merge (m, sums, sums + n_totals (m));
}

void
metric_sums_values (const MetricSums *m, double *value)
{
  for (guint i = 0; i < m->n; i++)
    value[i] = loom_metric_value (spec_of (m, i)->metric, &spec_of (m, i)->options, m->total + m->at[i], m->size[i],
                                  m->weight[i]);
}

guint
metric_sums_matrix (const MetricSums *m, guint i)
{
  return spec_of (m, i)->metric->is_matrix ? (guint)lround (sqrt (m->size[i])) : 0;
}

void
loom_trainer_eval_add_json (const LoomTrainerEval *eval, guint i, LoomJson *json)
{
  const LoomTrainerMatrix *matrix = &eval->matrix[i];

  if (matrix->n == 0)
    {
      loom_json_exact (json, eval->metric_name[i], eval->metric[i]);
      return;
    }
  loom_json_begin_array (json, eval->metric_name[i]);
  for (guint row = 0; row < matrix->n; row++)
    {
      loom_json_begin_array (json, NULL);
      for (guint column = 0; column < matrix->n; column++)
        loom_json_exact (json, NULL, matrix->value[row * matrix->n + column]);
      loom_json_end_array (json);
    }
  loom_json_end_array (json);
}
