/* Explains why a step has failed. */
#include "engine/train/step-failure.h"

#include "engine/core/loom-refuse.h"

#include <math.h>

void
step_failure_clear (StepFailure *self)
{
  nan_place_clear (&self->place);
  self->step = 0;
}

void
step_failure_report (StepFailure *self)
{
  if (self->step > 0)
    step_log_report (self->log, self->step, self->loss, self->lr, self->grad_norm);
  self->step = 0;
}

gboolean
step_failure_of_batch (StepFailure *self, StepPlan *plan, const LoomBatch *batch, double lr, GError *cause,
                       GError **error)
{
  const TrainProgress *progress = self->log->progress;
  const gint64 step = progress->step + 1, epoch = progress->epoch + 1;

  if (!g_error_matches (cause, LOOM_ERROR, LOOM_ERROR_NAN))
    {
      g_propagate_prefixed_error (error, cause, "Step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT "): ", step,
                                  epoch);
      return FALSE;
    }
  g_error_free (cause);
  self->loss = loom_exec_scalar (plan->exec, plan->loss);
  self->lr = lr;
  self->grad_norm = loom_exec_scalar (plan->exec, plan->grad_norm);
  self->step = isfinite (self->loss) ? 0 : step;
  nan_search (&self->search, progress->step, plan, batch, &self->place);
  return loom_refuse (
      error, LOOM_ERROR_NAN,
      "The numbers of step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT ") are no longer finite. %s. %s", step, epoch,
      self->place.sentence,
      self->place.is_of_data ? "The weights are those before that step. Repair that value first, or leave it out."
                             : "A smaller learning rate, gradient clipping or scaled inputs usually help.");
}

gboolean
step_failure_of_update (const StepFailure *self, GError *cause, GError **error)
{
  const TrainProgress *progress = self->log->progress;

  if (!g_error_matches (cause, LOOM_ERROR, LOOM_ERROR_NAN))
    {
      g_propagate_error (error, cause);
      return FALSE;
    }
  g_error_free (cause);
  return loom_refuse (error, LOOM_ERROR_NAN,
                      "The gradients of step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT
                      ") are finite for each batch, "
                      "but their sum is not. The weights are those before that step. Scale the loss down.",
                      progress->step + 1, progress->epoch + 1);
}
