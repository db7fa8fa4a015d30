/* Reports to the observer of a run; see the header. */
#include "engine/train/run-observer.h"

void
run_observer_step (const LoomTrainerStep *step, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.step != NULL)
    self->functions.step (self->trainer, step, self->data);
}

void
run_observer_eval (const LoomTrainerEval *eval, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.eval != NULL)
    self->functions.eval (self->trainer, eval, self->data);
}

void
run_observer_early_stop (const LoomTrainerWatch *watch, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.early_stop != NULL)
    self->functions.early_stop (self->trainer, watch, self->data);
}

void
run_observer_checkpoint (gint64 step, const char *path, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.checkpoint != NULL)
    self->functions.checkpoint (self->trainer, step, path, self->data);
}

void
run_observer_state (const char *state, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.state != NULL)
    self->functions.state (self->trainer, state, self->data);
}

void
run_observer_note (const char *note, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.note != NULL)
    self->functions.note (self->trainer, note, self->data);
}

void
run_observer_memory (gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.memory != NULL)
    self->functions.memory (self->trainer, self->data);
}

void
run_observer_breakpoint (const LoomBreakHit *hit, gpointer observer)
{
  const RunObserver *self = observer;

  if (self->functions.breakpoint != NULL)
    self->functions.breakpoint (self->trainer, hit, self->data);
}
