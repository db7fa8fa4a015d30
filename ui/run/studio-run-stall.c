/* Detects a run whose steps stall.
 *
 * A rank that hangs makes all other ranks wait in a collective without an error, and the worker can pause or stop only
 * between steps. So Studio compares the time since the last step with the usual time of a step. */
#include "ui/run/studio-run-private.h"

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

/* The message depends only on the time. */
static gboolean
tick_cb (gpointer data)
{
  StudioRun *self = data;
  g_autofree char *delay = studio_run_dup_stall (self);

  studio_run_tick_rank_memory (self);
  if (delay != NULL || self->stall_shown)
    studio_run_notify_numbers (self);
  self->stall_shown = delay != NULL;
  return G_SOURCE_CONTINUE;
}

void
studio_run_note_running (StudioRun *self, gboolean runs)
{
  g_clear_handle_id (&self->stall_timer, g_source_remove);
  self->step_at = self->stop_requested = 0;
  self->stall_shown = FALSE;
  if (!runs)
    return;
  self->pause_requested = 0;
  self->step_at = g_get_monotonic_time ();
  self->stall_timer = g_timeout_add_seconds (1, tick_cb, self);
  self->rank_memory_wait = 0;
  studio_run_tick_rank_memory (self);
}

void
studio_run_note_step (StudioRun *self, gint64 step)
{
  if (self->step_at == 0 || step <= self->step)
    return;
  double gap = since (self->step_at), each = gap / (double)(step - self->step);
  self->usual_gap = self->usual_gap > 0 ? 0.9 * self->usual_gap + 0.1 * each : each;
  self->longest_gap = MAX (self->longest_gap, gap);
  self->step_at = g_get_monotonic_time ();
}

/* The number of usual steps that may pass before the next step is late. After an epoch the worker evaluates, which may
 * take as long as the epoch's steps. */
static double
steps_between (const StudioRun *self)
{
  gint64 epoch = self->epochs > 0 ? self->total_steps / self->epochs : 0;

  return epoch > 0 && self->step % epoch == 0 ? MAX (USUAL_TIMES, (double)epoch) : USUAL_TIMES;
}

/* Seconds without a step; 0 if the time is usual, or if no step has been measured yet. */
static double
overdue_seconds (StudioRun *self)
{
  double gap = since (self->step_at);
  double most = MAX (steps_between (self) * self->usual_gap, MAX_FACTOR * self->longest_gap);

  return self->usual_gap > 0 && gap >= MAX (most, MIN_SECONDS) ? gap : 0;
}

/* TRUE if a second Stop may end the run by force: a step and its checkpoint can take long without a hang. */
gboolean
studio_run_may_force (StudioRun *self)
{
  return since (self->stop_requested) >= (overdue_seconds (self) > 0 ? STUDIO_RUN_FORCE_SECONDS : MIN_SECONDS);
}

gboolean
studio_run_is_stalled (StudioRun *self)
{
  return self->state == STUDIO_RUN_RUNNING && (overdue_seconds (self) > 0 || studio_run_may_force (self));
}

char *
studio_run_dup_stall (StudioRun *self)
{
  g_autoptr (GString) s = g_string_new (NULL);
  double seconds = overdue_seconds (self);
  const char *asked = NULL;

  if (self->state != STUDIO_RUN_RUNNING)
    return NULL;
  if (seconds > 0)
    g_string_append_printf (
        s, self->live_ranks > 1 ? _ ("no step for %.0f s: a rank may hang") : _ ("no step for %.0f s"), seconds);
  if (studio_run_may_force (self))
    asked = _ ("Stop waits for the step and its checkpoint; press Stop again to force it");
  else if (since (self->stop_requested) >= REQUEST_SECONDS)
    asked = _ ("Stop waits for the step and its checkpoint");
  else if (since (self->pause_requested) >= REQUEST_SECONDS)
    asked = _ ("Pause waits for the step to end");
  if (asked != NULL)
    g_string_append_printf (s, "%s%s", s->len > 0 ? " · " : "", asked);
  return s->len > 0 ? g_strdup (s->str) : NULL;
}
