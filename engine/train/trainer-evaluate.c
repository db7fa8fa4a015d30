/* Evaluation of a split, over all its samples, between two steps. */
#include "engine/train/trainer-private.h"

void
trainer_feed_batch (TrainerPlan *plan, const LoomBatch *batch)
{
  for (guint i = 0; i < plan->n_feeds; i++)
    loom_exec_feed (plan->exec, plan->feed[i].input,
                    trainer_feed_data (&plan->feed[i], batch->tensors[plan->feed[i].port]));
}

static gboolean
evaluation_failed (LoomTrainer *t, GError **error)
{
  g_prefix_error (error, "Evaluation after step %" G_GINT64_FORMAT ": ", t->place.step);
  return FALSE;
}

/* Between two batches of an evaluation: the run may be paused here as between two steps, a command that ends it makes
 * the evaluation give way, and a single step that is asked for waits until the evaluation is over. */
static gboolean
poll_evaluation (LoomTrainer *t, gboolean *gave_way, GError **error)
{
  TrainerAction action = TRAINER_CONTINUE;

  *gave_way = FALSE;
  if (t->comm != NULL || !g_atomic_int_get (&t->inbox.pending))
    return TRUE; /* ranks agree between steps alone */
  if (!t->inbox.active || t->inbox.single)
    {
      *gave_way = trainer_must_end (t);
      return TRUE;
    }
  if (!trainer_poll (t, TRUE, &action, error))
    return FALSE;
  *gave_way = action != TRAINER_CONTINUE;
  if (!*gave_way)
    trainer_set_state (t, "running");
  return TRUE;
}

gboolean
trainer_evaluate (LoomTrainer *t, LoomSplit split, gboolean *gave_way, GError **error)
{
  guint n_metrics = t->spec->metrics->len;
  double samples = 0;
  g_auto (TrainerLoss) loss = { 0 };
  g_autoptr (TrainerMetrics) metrics = NULL;
  const LoomBatch *batch;
  g_autoptr (GError) local = NULL;

  *gave_way = FALSE;
  if (t->eval_loader[split] == NULL)
    t->eval_loader[split] = trainer_loader_new (t, split, FALSE, error);
  if (t->eval_loader[split] == NULL)
    return FALSE;
  loom_loader_start (t->eval_loader[split], 0, 0);
  while ((batch = loom_loader_next (t->eval_loader[split], &local)) != NULL)
    {
      TrainerPlan *plan = trainer_plan_get (t, batch->n, FALSE, error);
      if (plan == NULL)
        return evaluation_failed (t, error);
      if (t->spec->stateful)
        loom_state_put_scalar_at (t->state,
                                  (guint)loom_state_find (t->state, LOOM_SLOT_CARRY_EVALUATE LOOM_CARRY_POSITION),
                                  (double)batch->index);
      trainer_feed_batch (plan, batch);
      if (!loom_exec_run (plan->exec, error))
        return evaluation_failed (t, error);
      trainer_loss_add (&loss, plan, (double)batch->n, samples == 0);
      samples += batch->n;
      t->eval_loss = trainer_loss_value (&loss, plan, samples);
      if (metrics == NULL)
        metrics = trainer_metrics_new (t->spec, plan->step);
      if (!trainer_metrics_take (metrics, plan, error))
        return evaluation_failed (t, error);
      if (!poll_evaluation (t, gave_way, error))
        return FALSE;
      if (*gave_way)
        {
          loom_loader_reset (t->eval_loader[split]);
          return TRUE;
        }
    }
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  g_autofree LoomTrainerMatrix *matrix = g_new0 (LoomTrainerMatrix, n_metrics + 1);
  trainer_metrics_values (metrics, t->eval_value);
  for (guint i = 0; i < n_metrics; i++)
    matrix[i] = (LoomTrainerMatrix){ trainer_metrics_matrix (metrics, i), metrics->total + metrics->at[i] };
  LoomTrainerEval eval = {
    .split = loom_split_name (split),
    .step = t->place.step,
    .epoch = MIN (t->place.epoch + 1, t->spec->epochs),
    .loss = t->eval_loss,
    .n_metrics = n_metrics,
    .metric_name = t->metric_name,
    .metric = t->eval_value,
    .matrix = matrix,
  };
  if (t->observer.eval != NULL)
    t->observer.eval (t, &eval, t->observer_data);
  return trainer_events_eval (t, &eval, error);
}

gboolean
loom_trainer_evaluate (LoomTrainer *t, const char *name, GError **error)
{
  gboolean gave_way;
  LoomSplit split = g_strcmp0 (name, "test") == 0 ? LOOM_SPLIT_TEST : LOOM_SPLIT_VAL;

  /* A loss that depends on no data has one value for all splits. */
  if (t->spec->dataset_node < 0)
    return trainer_evaluate (t, LOOM_SPLIT_TRAIN, &gave_way, error);
  if (loom_dataset_count (t->dataset, split) == 0)
    split = trainer_dataset_validation (t->dataset);
  if (split == LOOM_N_SPLITS)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The data set has neither validation nor test samples to evaluate on.");
      return FALSE;
    }
  return trainer_evaluate (t, split, &gave_way, error);
}
