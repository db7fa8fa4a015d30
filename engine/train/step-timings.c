/* The parts of a step's time; see the header. */
#include "engine/train/step-timings.h"

#include "engine/core/loom-os.h"

#define SHORT_STRIDE 16

void
step_timings_begin (StepTimings *self, gint64 step, gboolean is_long)
{
  self->timed = self->begun && (is_long || self->n < SHORT_STRIDE || step % SHORT_STRIDE == 0);
  self->begun = TRUE;
  self->data = self->compute = 0;
  if (self->timed)
    self->start = self->mark = loom_monotonic ();
}

void
step_timings_mark (StepTimings *self, gint64 *kind)
{
  if (!self->timed)
    return;
  gint64 now = loom_monotonic ();
  *kind += now - self->mark;
  self->mark = now;
}

void
step_timings_end (StepTimings *self)
{
  if (!self->timed)
    return;
  self->all_data += self->data;
  self->all_compute += self->compute;
  self->all += loom_monotonic () - self->start;
  self->n++;
  self->timed = FALSE;
}

void
step_timings_values (const StepTimings *self, LoomTrainerWaits *waits)
{
  const double unit = 1.0 / ((double)G_USEC_PER_SEC * (double)MAX (self->n, 1));

  *waits = (LoomTrainerWaits){ .steps = self->n,
                               .data = (double)self->all_data * unit,
                               .compute = (double)self->all_compute * unit,
                               .rest = (double)(self->all - self->all_data - self->all_compute) * unit };
}
