/* Shows an earlier step of a run: pauses the run, requests the step from the worker, which computes it again, and makes
 * all views request their values again. */
#include "ui/run/studio-run-private.h"

static gboolean
stands (const StudioRun *self)
{
  return self->state == STUDIO_RUN_PAUSED || self->state == STUDIO_RUN_DONE || self->state == STUDIO_RUN_STOPPED;
}

static void send_next (StudioRun *self);

static void
travelled_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioRun) self = data;
  g_autoptr (GError) error = NULL;
  gint64 step;
  double seconds;
  const gboolean ok = loom_bus_worker1_call_travel_finish (LOOM_BUS_WORKER1 (source), &step, &seconds, result, &error);

  if (source != (GObject *)studio_run_get_proxy (self))
    return;
  self->travel.in_flight = FALSE;
  if (ok)
    {
      self->travel.seconds = seconds;
      studio_run_show_step (self, step >= self->progress.step ? STUDIO_RUN_NEWEST : step);
    }
  else if (g_dbus_error_is_remote_error (error))
    {
      g_dbus_error_strip_remote_error (error);
      studio_run_take_problem (self, "REFUSED", "", "", error->message);
      studio_run_show_step (self, STUDIO_RUN_NEWEST);
    }
  send_next (self);
}

/* While one step is computed only the newest wish is kept. */
static void
send_next (StudioRun *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self);

  if (self->travel.wanted == STUDIO_RUN_TRAVEL_NONE || self->travel.in_flight || proxy == NULL || !stands (self))
    return;
  self->travel.in_flight = TRUE;
  loom_bus_worker1_call_travel (proxy, self->travel.wanted, NULL, travelled_cb, g_object_ref (self));
  self->travel.wanted = STUDIO_RUN_TRAVEL_NONE;
}

/* A run that was paused for it has its next state; another start forgets what was asked for. */
static void
state_cb (StudioRun *self)
{
  if (self->state == STUDIO_RUN_STARTING)
    {
      self->travel.in_flight = FALSE;
      self->travel.wanted = STUDIO_RUN_TRAVEL_NONE;
    }
  send_next (self);
}

void
studio_run_travel (StudioRun *self, gint64 step)
{
  const gint64 newest = self->progress.step;

  if (studio_run_get_proxy (self) == NULL || (!stands (self) && self->state != STUDIO_RUN_RUNNING)
      || (step < 0 && self->travel.shown < 0 && !self->travel.in_flight
          && self->travel.wanted == STUDIO_RUN_TRAVEL_NONE))
    return;
  if (!self->travel.is_connected)
    g_signal_connect (self, "state-changed", G_CALLBACK (state_cb), NULL);
  self->travel.is_connected = TRUE;
  self->travel.wanted = step < 0 || step >= newest ? STUDIO_RUN_NEWEST : step;
  if (self->state == STUDIO_RUN_RUNNING)
    studio_run_pause (self);
  send_next (self);
}

gint64
studio_run_get_shown_step (StudioRun *self)
{
  return self->travel.shown;
}

double
studio_run_get_travel_seconds (StudioRun *self)
{
  return self->travel.seconds;
}
