/* The next batch of an epoch, fetched and brought up to the device while a step is computed there.
 *
 * What is fetched is the batch that the loader gives next anyway, so the order of samples is that of a run without it.
 * An error of the next batch is told with the next step. */
#include "engine/train/trainer-private.h"

gboolean
trainer_ahead_init (LoomTrainer *t, const TrainerPlan *plan, GError **error)
{
  /* A driver feeds its own points. */
  if (t->driver != NULL || !loom_exec_can_upload (plan->exec))
    return TRUE;
  t->ahead.is_wanted = TRUE;
  return loom_loader_keep_two (t->loader, error);
}

void
trainer_ahead_drop (LoomTrainer *t)
{
  g_clear_error (&t->ahead.error);
  t->ahead.batch = NULL;
  t->ahead.fed = NULL;
}

void
trainer_ahead_fetch (LoomTrainer *t, TrainerPlan *plan)
{
  TrainerAhead *ahead = &t->ahead;

  if (!ahead->is_wanted || ahead->batch != NULL || ahead->error != NULL)
    return;
  ahead->batch = loom_loader_next (t->loader, &ahead->error);
  if (ahead->batch == NULL || ahead->batch->n != plan->step->batch)
    return;
  trainer_feed_batch (plan, ahead->batch);
  if (loom_exec_upload (plan->exec, &ahead->error))
    ahead->fed = plan;
}

const LoomBatch *
trainer_ahead_next (LoomTrainer *t, GError **error)
{
  const LoomBatch *batch = t->ahead.batch;

  if (t->ahead.error != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&t->ahead.error));
      trainer_ahead_drop (t);
      return NULL;
    }
  t->ahead.batch = NULL;
  return batch != NULL ? batch : loom_loader_next (t->loader, error);
}

void
trainer_ahead_feed (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch)
{
  if (t->ahead.fed != plan)
    trainer_feed_batch (plan, batch);
  t->ahead.fed = NULL;
}
