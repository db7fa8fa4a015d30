/* Evaluates a split, over all its samples, between two steps. */
#include "engine/train/evaluation.h"

#include "engine/program/loom-slot-names.h"

void
evaluation_init (Evaluation *self)
{
  self->value = g_new0 (double, self->model->spec->metrics->len + 1);
}

void
evaluation_clear (Evaluation *self)
{
  for (guint i = 0; i < LOOM_N_SPLITS; i++)
    g_clear_pointer (&self->loader[i], loom_loader_free);
  g_clear_pointer (&self->value, g_free);
}

static gboolean
failed (const Evaluation *self, GError **error)
{
  g_prefix_error (error, "Evaluation after step %" G_GINT64_FORMAT ": ", self->progress->step);
  return FALSE;
}

static gboolean
report (Evaluation *self, LoomSplit split, const MetricSums *metrics, GError **error)
{
  const guint n = self->model->spec->metrics->len;
  g_autofree LoomTrainerMatrix *matrix = g_new0 (LoomTrainerMatrix, n + 1);
  LoomTrainerEval eval;

  metric_sums_values (metrics, self->value);
  for (guint i = 0; i < n; i++)
    matrix[i] = (LoomTrainerMatrix){ metric_sums_matrix (metrics, i), metrics->total + metrics->at[i] };
  eval = (LoomTrainerEval){
    .split = loom_split_name (split),
    .step = self->progress->step,
    .epoch = MIN (self->progress->epoch + 1, self->model->spec->epochs),
    .loss = self->loss,
    .n_metrics = n,
    .metric_name = self->metric_name,
    .metric = self->value,
    .matrix = matrix,
  };
  self->report (&eval, self->owner);
  return run_folder_add_eval (self->folder, &eval, error);
}

/* Evaluates a batch with its plan. */
static StepPlan *
run_batch (Evaluation *self, const LoomBatch *batch, GError **error)
{
  const TrainModel *model = self->model;
  StepPlan *plan = step_plans_get (self->plans, batch->n, FALSE, error);

  if (plan == NULL)
    return NULL;
  if (model->spec->stateful)
    loom_state_put_scalar_at (model->state,
                              (guint)loom_state_find (model->state, LOOM_SLOT_CARRY_EVALUATE LOOM_CARRY_POSITION),
                              (double)batch->index);
  step_plan_feed (plan, batch);
  return loom_exec_run (plan->exec, error) ? plan : NULL;
}

gboolean
evaluation_run (Evaluation *self, LoomSplit split, gboolean *yielded, GError **error)
{
  double samples = 0;
  g_auto (LossSums) loss = { 0 };
  g_autoptr (MetricSums) metrics = NULL;
  const LoomBatch *batch;
  g_autoptr (GError) local = NULL;

  *yielded = FALSE;
  if (self->loader[split] == NULL)
    self->loader[split] = train_data_loader_new (self->data, self->model, self->group, split, FALSE, error);
  if (self->loader[split] == NULL)
    return FALSE;
  loom_loader_start (self->loader[split], 0, 0);
  while ((batch = loom_loader_next (self->loader[split], &local)) != NULL)
    {
      StepPlan *plan = run_batch (self, batch, error);

      if (plan == NULL)
        return failed (self, error);
      loss_sums_add (&loss, plan, (double)batch->n, samples == 0);
      samples += (double)batch->n;
      self->loss = loss_sums_value (&loss, plan, samples);
      if (metrics == NULL)
        metrics = metric_sums_new (self->model->spec, plan->step);
      if (!metric_sums_add (metrics, plan, error))
        return failed (self, error);
      if (!self->poll (yielded, self->owner, error))
        return FALSE;
      if (*yielded)
        {
          loom_loader_reset (self->loader[split]);
          return TRUE;
        }
    }
  if (local == NULL)
    return report (self, split, metrics, error);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

double
evaluation_monitored (const Evaluation *self)
{
  const int monitor = self->model->spec->monitor;

  return monitor < 0 ? self->loss : self->value[monitor];
}
