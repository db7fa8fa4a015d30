/* What a run's metrics have counted so far: statistics of batches, put together as doubles.
 *
 * All sizes are known when the first step is planned, so that nothing is allocated while it trains. */
#include "engine/train/trainer-private.h"

#include <math.h>

TrainerMetrics *
trainer_metrics_new (const LoomTrainSpec *spec, const LoomStep *step)
{
  TrainerMetrics *m = g_new0 (TrainerMetrics, 1);
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
trainer_metrics_free (TrainerMetrics *m)
{
  if (!m)
    return;
  g_free (m->size);
  g_free (m->at);
  g_free (m->total);
  g_free (m->weight);
  g_free (m->batch);
  g_free (m);
}

void
trainer_metrics_clear (TrainerMetrics *m)
{
  for (guint i = 0; i < m->n; i++)
    {
      m->weight[i] = 0;
      for (guint k = 0; k < m->size[i]; k++)
        m->total[m->at[i] + k] = 0;
    }
}

static const LoomMetricSpec *
spec_of (const TrainerMetrics *m, guint i)
{
  return m->spec->metrics->pdata[i];
}

gboolean
trainer_metrics_take (TrainerMetrics *m, TrainerPlan *plan, GError **error)
{
  for (guint i = 0; i < m->n; i++)
    {
      if (!loom_exec_numbers (plan->exec, plan->metric[i], m->size[i], m->batch))
        {
          /* A device that fails knows more than the metric does. */
          if (loom_exec_sync (plan->exec, error))
            g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE, "Metric “%s” cannot be read back from its device.",
                         spec_of (m, i)->name);
          return FALSE;
        }
      loom_metric_merge (spec_of (m, i)->metric, m->total + m->at[i], &m->weight[i], m->batch,
                         (double)plan->step->metric_count[i], m->size[i]);
    }
  return TRUE;
}

void
trainer_metrics_values (const TrainerMetrics *m, double *value)
{
  for (guint i = 0; i < m->n; i++)
    value[i] = loom_metric_value (spec_of (m, i)->metric, &spec_of (m, i)->options, m->total + m->at[i], m->size[i],
                                  m->weight[i]);
}

guint
trainer_metrics_matrix (const TrainerMetrics *m, guint i)
{
  return spec_of (m, i)->metric->is_matrix ? (guint)lround (sqrt (m->size[i])) : 0;
}

char *
loom_trainer_metric_to_json (const LoomTrainerEval *eval, guint i)
{
  const LoomTrainerMatrix *matrix = &eval->matrix[i];
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  GString *text = g_string_new (NULL);

  if (matrix->n == 0)
    g_string_append (text, trainer_number (eval->metric[i], number));
  for (guint k = 0; k < matrix->n * matrix->n; k++)
    g_string_append_printf (text, "%s%s%s%s", k == 0 ? "[" : "", k % matrix->n == 0 ? k == 0 ? "[" : ",[" : ",",
                            trainer_number (matrix->value[k], number), k % matrix->n == matrix->n - 1 ? "]" : "");
  if (matrix->n > 0)
    g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}
