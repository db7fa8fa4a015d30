/* The pace of a run that is shown to an audience.
 *
 * A lesson of a few thousand tiny steps would be over before its curve is seen. So a run can have a minimum duration,
 * over which its steps are spread evenly: step k is due at base + (k − first) · seconds / total. Only the time between
 * steps changes, never a number. No step waits longer than MAX_WAIT, which bounds both how slow a run becomes and the
 * delay of commands; time lost to an evaluation or a pause is not made up for in a burst. */
#include "app/worker/worker.h"

#define MAX_WAIT (50 * 1000)  /* µs a step */
#define SLICE    (20 * 1000)  /* µs between two checks of the requested pace */
#define MIN_WAIT 1000         /* µs: shorter waits are added to the next step's */
#define MAX_LATE (100 * 1000) /* µs */

void
worker_pace_set (WorkerPace *pace, double seconds)
{
  g_atomic_int_set (&pace->wanted_ms, (int)(seconds * 1000));
}

void
worker_pace_hurry (WorkerPace *pace, gboolean hurried)
{
  g_atomic_int_set (&pace->hurried, hurried);
}

gboolean
worker_pace_is_valid (double seconds)
{
  return seconds >= 0 && seconds <= WORKER_PACE_MAX_SECONDS; /* not for NaN */
}

/* Returns the earliest time of the next step (µs, monotonic) after step `step` of `total` has finished; if it is not
 * after `now`, the step begins at once. */
static gint64
pace_due (WorkerPace *pace, gint64 step, gint64 total, gint64 now)
{
  int wanted = g_atomic_int_get (&pace->wanted_ms);

  if (wanted != pace->ms || step < pace->first)
    {
      pace->ms = wanted;
      pace->first = step - 1;
      pace->base = now;
    }
  if (wanted <= 0 || total <= 0)
    return now;
  gint64 due = pace->base + (gint64)((double)(step - pace->first) * wanted * 1000 / (double)total);
  if (now - due > MAX_LATE)
    {
      pace->first = step;
      pace->base = due = now;
    }
  /* If a step may not wait until it is due, the schedule starts again from its time, because otherwise all later steps
   * would be too early as well. */
  else if (due - now > MAX_WAIT)
    {
      pace->first = step;
      pace->base = due = now + MAX_WAIT;
    }
  return due;
}

void
worker_pace_wait (WorkerPace *pace, gint64 step, gint64 total)
{
  if (g_atomic_int_get (&pace->wanted_ms) == 0 && pace->ms == 0)
    return;
  gint64 now = loom_monotonic (), due = pace_due (pace, step, total, now);
  if (due - now < MIN_WAIT)
    return;
  while (now < due && g_atomic_int_get (&pace->wanted_ms) == pace->ms && !g_atomic_int_get (&pace->hurried))
    {
      loom_os->sleep ((gulong)MIN (due - now, SLICE));
      now = loom_monotonic ();
    }
}

double
worker_pace_remaining (WorkerPace *pace, gint64 step, gint64 total)
{
  int wanted = g_atomic_int_get (&pace->wanted_ms);

  if (wanted <= 0 || total <= step)
    return 0;
  /* A step never waits longer than MAX_WAIT, whatever the minimum duration. */
  return (double)(total - step) * MIN (wanted / 1e3 / (double)total, MAX_WAIT / 1e6);
}
