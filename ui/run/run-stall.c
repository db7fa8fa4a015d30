/* Compares the time since the last step of a run with the usual time of a step (run-stall.h). */
#include "ui/run/run-stall.h"

#include <glib/gi18n.h>

#define MIN_SECONDS     10 /* a shorter gap may be due to a busy machine */
#define USUAL_TIMES     20
#define MAX_FACTOR      2 /* a gap may include a checkpoint */
#define REQUEST_SECONDS 1 /* if a step ends sooner, no message is needed */

static double
since (gint64 then)
{
  return then != 0 ? (double)(g_get_monotonic_time () - then) / G_USEC_PER_SEC : 0;
}

void
run_stall_note_running (RunStall *stall, gboolean runs)
{
  stall->step_at = runs ? g_get_monotonic_time () : 0;
  stall->stop_requested = 0;
  if (runs)
    stall->pause_requested = 0;
}

void
run_stall_note_steps (RunStall *stall, gint64 steps)
{
  double gap = since (stall->step_at), each = gap / (double)MAX (steps, 1);

  if (stall->step_at == 0 || steps <= 0)
    return;
  stall->usual_gap = stall->usual_gap > 0 ? 0.9 * stall->usual_gap + 0.1 * each : each;
  stall->longest_gap = MAX (stall->longest_gap, gap);
  stall->step_at = g_get_monotonic_time ();
}

/* After an epoch the worker evaluates, which may take as long as the epoch's steps. */
double
run_stall_patience (gint64 step, gint64 total_steps, gint64 epochs)
{
  gint64 epoch = epochs > 0 ? total_steps / epochs : 0;

  return epoch > 0 && step % epoch == 0 ? MAX (USUAL_TIMES, (double)epoch) : USUAL_TIMES;
}

/* Seconds without a step; 0 if the time is usual, or if no step has been measured yet. */
static double
overdue_seconds (const RunStall *stall, double patience)
{
  double gap = since (stall->step_at);
  double most = MAX (patience * stall->usual_gap, MAX_FACTOR * stall->longest_gap);

  return stall->usual_gap > 0 && gap >= MAX (most, MIN_SECONDS) ? gap : 0;
}

gboolean
run_stall_is_late (const RunStall *stall, double patience)
{
  return overdue_seconds (stall, patience) > 0;
}

gboolean
run_stall_may_force (const RunStall *stall, double patience)
{
  return since (stall->stop_requested) >= (run_stall_is_late (stall, patience) ? RUN_STALL_FORCE_SECONDS : MIN_SECONDS);
}

char *
run_stall_dup_sentence (const RunStall *stall, double patience, gboolean has_ranks)
{
  g_autoptr (GString) s = g_string_new (NULL);
  double seconds = overdue_seconds (stall, patience);
  const char *asked = NULL;

  if (seconds > 0)
    g_string_append_printf (s, has_ranks ? _ ("no step for %.0f s: a rank may hang") : _ ("no step for %.0f s"),
                            seconds);
  if (run_stall_may_force (stall, patience))
    asked = _ ("Stop waits for the step and its checkpoint; press Stop again to force it");
  else if (since (stall->stop_requested) >= REQUEST_SECONDS)
    asked = _ ("Stop waits for the step and its checkpoint");
  else if (since (stall->pause_requested) >= REQUEST_SECONDS)
    asked = _ ("Pause waits for the step to end");
  if (asked != NULL)
    g_string_append_printf (s, "%s%s", s->len > 0 ? " · " : "", asked);
  return s->len > 0 ? g_strdup (s->str) : NULL;
}
