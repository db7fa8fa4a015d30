/* Where a step waits: for its batch, for the computation, or for what is done between two steps.
 *
 * The clock is read four times a step where steps are long. Short ones would pay for that, so that beyond the first
 * ones every 16th is measured. The very first is left out: it makes the plan and the first batch. */
#include "engine/train/trainer-private.h"

#define SHORT_STRIDE 16

void
trainer_waits_begin (LoomTrainer *t)
{
  TrainerWaits *w = &t->waits;

  w->timed = w->begun && (t->clock.stride == 1 || w->n < SHORT_STRIDE || t->place.step % SHORT_STRIDE == 0);
  w->begun = TRUE;
  w->data = w->compute = 0;
  if (w->timed)
    w->start = w->mark = g_get_monotonic_time ();
}

void
trainer_waits_lap (LoomTrainer *t, gint64 *kind)
{
  if (!t->waits.timed)
    return;
  gint64 now = g_get_monotonic_time ();
  *kind += now - t->waits.mark;
  t->waits.mark = now;
}

void
trainer_waits_end (LoomTrainer *t)
{
  TrainerWaits *w = &t->waits;

  if (!w->timed)
    return;
  w->all_data += w->data;
  w->all_compute += w->compute;
  w->all += g_get_monotonic_time () - w->start;
  w->n++;
  w->timed = FALSE;
}

void
loom_trainer_waits (const LoomTrainer *t, LoomTrainerWaits *waits)
{
  const TrainerWaits *w = &t->waits;
  const double unit = 1.0 / ((double)G_USEC_PER_SEC * (double)MAX (w->n, 1));

  *waits = (LoomTrainerWaits){ .steps = w->n,
                               .data = (double)w->all_data * unit,
                               .compute = (double)w->all_compute * unit,
                               .rest = (double)(w->all - w->all_data - w->all_compute) * unit,
                               .threads = loom_loader_n_threads (t->loader) };
}
