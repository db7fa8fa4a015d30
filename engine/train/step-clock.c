/* The rate of a run and the time that it still needs. */
#include "engine/train/step-clock.h"

#include "engine/core/loom-os.h"

#include <math.h>

#define PERIOD 1000 /* µs between two readings */

void
step_clock_start (StepClock *self, gint64 step)
{
  self->start_time = self->last_time = loom_monotonic ();
  self->next_step = step + 1;
  self->stride = 1;
}

void
step_clock_count (StepClock *self, double items)
{
  self->items_since += items;
}

gint64
step_clock_read (StepClock *self, gint64 step, double left)
{
  gint64 now = loom_monotonic (), elapsed = now - self->last_time;
  gint64 steps = MAX (1, self->stride);

  if (elapsed < PERIOD / 2)
    self->stride = MIN (steps * 2, 4096);
  else if (elapsed > PERIOD * 2)
    self->stride = MAX (1, steps / 2);
  self->next_step = step + self->stride;
  if (elapsed > 0 && self->items_since > 0)
    {
      /* Exponential mean with a time constant of a second. */
      double rate = self->items_since * G_USEC_PER_SEC / elapsed;
      double weight = self->items_per_second > 0 ? -expm1 (-(double)elapsed / G_USEC_PER_SEC) : 1;

      self->items_per_second += weight * (rate - self->items_per_second);
      self->eta_seconds = self->items_per_second > 0 ? left / self->items_per_second : 0;
    }
  self->last_time = now;
  self->items_since = 0;
  return now;
}

void
step_clock_resume (StepClock *self, gint64 step)
{
  self->next_step = step;
  self->last_time = loom_monotonic ();
  self->items_since = 0;
}

void
step_clock_skip (StepClock *self, gint64 elapsed)
{
  self->last_time += elapsed;
}
