/* Fetches the next batch of an epoch while a step is computed; see the header. */
#include "engine/train/batch-queue.h"

gboolean
batch_queue_init (BatchQueue *self, LoomLoader *loader, const StepPlan *plan, gboolean has_driver, GError **error)
{
  *self = (BatchQueue){ .loader = loader };
  if (has_driver || !loom_exec_can_upload (plan->exec))
    return TRUE;
  self->prefetches = TRUE;
  return loom_loader_keep_two (loader, error);
}

void
batch_queue_drop (BatchQueue *self)
{
  g_clear_error (&self->error);
  self->batch = NULL;
  self->fed = NULL;
}

void
batch_queue_fetch (BatchQueue *self, StepPlan *plan)
{
  if (!self->prefetches || self->batch != NULL || self->error != NULL)
    return;
  self->batch = loom_loader_next (self->loader, &self->error);
  if (self->batch == NULL || self->batch->n != plan->step->batch)
    return;
  step_plan_feed (plan, self->batch);
  if (loom_exec_upload (plan->exec, &self->error))
    self->fed = plan;
}

const LoomBatch *
batch_queue_peek (BatchQueue *self, gint64 epoch, gint64 first, GError **error)
{
  /* The order of samples depends only on the epoch, so that starting again there changes no batch. */
  if (self->batch == NULL && self->error == NULL)
    {
      loom_loader_start (self->loader, epoch, first);
      self->batch = loom_loader_next (self->loader, &self->error);
    }
  if (self->error != NULL)
    g_propagate_error (error, g_error_copy (self->error));
  return self->batch;
}

const LoomBatch *
batch_queue_next (BatchQueue *self, GError **error)
{
  const LoomBatch *batch = self->batch;

  if (self->error != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&self->error));
      batch_queue_drop (self);
      return NULL;
    }
  self->batch = NULL;
  return batch != NULL ? batch : loom_loader_next (self->loader, error);
}

void
batch_queue_feed (BatchQueue *self, StepPlan *plan, const LoomBatch *batch)
{
  if (self->fed != plan)
    step_plan_feed (plan, batch);
  self->fed = NULL;
}
