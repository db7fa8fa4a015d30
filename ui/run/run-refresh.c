/* When the numbers of a run are shown; see the header. */
#include "ui/run/run-refresh.h"

#include <time.h>

#define FRACTION 0.005 /* of all processors, for this process */

/* Of all threads. */
static gint64
processor_time (void)
{
  struct timespec t;

  return clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? t.tv_sec * G_USEC_PER_SEC + t.tv_nsec / 1000 : 0;
}

gint64
run_refresh_pause (gint64 used, guint n_processors)
{
  const double each = 1000 * FRACTION * MAX (n_processors, 1); /* µs of processor time in a millisecond */

  return (gint64)CLAMP ((double)used / each, RUN_REFRESH_MS, RUN_REFRESH_MOST_MS);
}

/* By the processor time since the last time. */
static void
set_pause (RunRefresh *self)
{
  const gint64 used = processor_time ();

  self->pause = self->runs ? run_refresh_pause (used - self->used, g_get_num_processors ()) : RUN_REFRESH_MS;
  self->shown = g_get_monotonic_time ();
  self->used = used;
}

static gboolean
timer_cb (gpointer data)
{
  RunRefresh *self = data;

  self->timer = 0;
  set_pause (self);
  self->show (self->data);
  return G_SOURCE_REMOVE;
}

void
run_refresh_init (RunRefresh *self, void (*show) (gpointer data), gpointer data)
{
  *self = (RunRefresh){ .show = show, .data = data, .pause = RUN_REFRESH_MS };
}

void
run_refresh_clear (RunRefresh *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
}

void
run_refresh_request (RunRefresh *self)
{
  const gint64 passed = (g_get_monotonic_time () - self->shown) / 1000;

  if (self->timer == 0)
    self->timer = g_timeout_add ((guint)CLAMP (self->pause - passed, 0, RUN_REFRESH_MOST_MS), timer_cb, self);
}

gboolean
run_refresh_is_due (const RunRefresh *self)
{
  return self->timer != 0;
}

/* In another state the numbers may come earlier. */
void
run_refresh_note_running (RunRefresh *self, gboolean runs)
{
  self->runs = runs;
  self->pause = RUN_REFRESH_MS;
  self->used = processor_time ();
  if (self->timer == 0)
    return;
  run_refresh_clear (self);
  run_refresh_request (self);
}
