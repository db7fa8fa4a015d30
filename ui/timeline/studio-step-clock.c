/* Implements studio-step-clock.h. A request for the trace returns the newest one and makes the worker record the next
 * step, in which devices are synchronised after each instruction; so it is sent rarely. */
#include "ui/timeline/studio-step-clock.h"

#include "engine/loom.h"

#include "ui/charts/studio-type.h"
#include "ui/run/run-report.h"

#define PERIOD    5 /* seconds, after the first times of a run; before, each second */
#define MAX_BYTES (4 * 1024 * 1024)

struct _StudioStepClock
{
  GObject parent_instance;
  StudioRun *run;
  GArray *spans; /* NULL: none */
  char *folder;  /* of the run that they are of */
  gboolean watched, in_flight;
  guint timer, tick;
};

STUDIO_DEFINE_TYPE (StudioStepClock, studio_step_clock, G_TYPE_OBJECT)

static guint changed_signal;

const GArray *
studio_step_clock_get_spans (StudioStepClock *self)
{
  return self->spans;
}

/* ---- reading in a thread ------------------------------------------------------------- */

typedef struct
{
  char *folder;    /* of a run, or */
  GVariant *bytes; /* a trace */
} Reading;

static void
reading_free (Reading *reading)
{
  g_free (reading->folder);
  g_clear_pointer (&reading->bytes, g_variant_unref);
  g_free (reading);
}

static void
reading_cb (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Reading *reading = data;
  GArray *spans;
  gsize n;

  if (reading->folder != NULL)
    spans = loom_trace_read_run (reading->folder, NULL, NULL);
  else
    {
      const char *text = g_variant_get_fixed_array (reading->bytes, &n, 1);

      spans = loom_trace_parse (text, n, NULL, NULL);
    }
  g_task_return_pointer (task, spans, (GDestroyNotify)g_array_unref);
}

static void
read_cb (GObject *object, GAsyncResult *result, gpointer data)
{
  StudioStepClock *self = STUDIO_STEP_CLOCK (object);
  GArray *spans = g_task_propagate_pointer (G_TASK (result), NULL);

  self->in_flight = FALSE;
  if (spans != NULL && spans->len > 0)
    {
      g_clear_pointer (&self->spans, g_array_unref);
      self->spans = g_array_ref (spans);
      g_signal_emit (self, changed_signal, 0);
    }
  g_clear_pointer (&spans, g_array_unref);
}

/* Either is NULL. (transfer full) */
static void
begin_reading (StudioStepClock *self, char *folder, GVariant *bytes)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, read_cb, NULL);
  Reading *reading = g_new0 (Reading, 1);

  reading->folder = folder;
  reading->bytes = bytes;
  self->in_flight = TRUE;
  g_task_set_task_data (task, reading, (GDestroyNotify)reading_free);
  g_task_run_in_thread (task, reading_cb);
}

static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioStepClock) self = data;
  g_autoptr (GVariant) values = run_report_finish (source, result, NULL, NULL);

  self->in_flight = FALSE;
  if (values != NULL && self->run != NULL && studio_run_get_proxy (self->run) == LOOM_BUS_WORKER1 (source))
    begin_reading (self, NULL, g_steal_pointer (&values));
}

/* ---- asking ----------------------------------------------------------------------------- */

/* Another run has other times. */
static void
forget_other_run (StudioStepClock *self)
{
  const char *folder = studio_run_get_folder (self->run);

  if (g_strcmp0 (folder, self->folder) == 0)
    return;
  g_free (self->folder);
  self->folder = g_strdup (folder);
  self->tick = 0;
  if (self->spans == NULL)
    return;
  g_clear_pointer (&self->spans, g_array_unref);
  g_signal_emit (self, changed_signal, 0);
}

static void
request (StudioStepClock *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);

  forget_other_run (self);
  if (!self->watched || self->in_flight)
    return;
  if (proxy != NULL && studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    {
      self->in_flight = TRUE;
      run_report_async (proxy, LOOM_SNAPSHOT_TRACE, MAX_BYTES, NULL, answer_cb, g_object_ref (self));
    }
  else if (self->spans == NULL && self->folder != NULL)
    begin_reading (self, g_strdup (self->folder), NULL);
}

static gboolean
tick_cb (gpointer data)
{
  StudioStepClock *self = data;

  if (self->spans == NULL || ++self->tick % PERIOD == 0)
    request (self);
  return G_SOURCE_CONTINUE;
}

/* Ticks only while a run trains. */
static void
state_cb (StudioStepClock *self)
{
  const gboolean ticks = self->watched && studio_run_is_live (self->run);

  request (self);
  if (ticks && self->timer == 0)
    self->timer = g_timeout_add_seconds (1, tick_cb, self);
  else if (!ticks)
    g_clear_handle_id (&self->timer, g_source_remove);
}

void
studio_step_clock_watch (StudioStepClock *self, gboolean watch)
{
  self->watched = watch;
  state_cb (self);
}

/* ---- object ------------------------------------------------------------------------------- */

static void
step_clock_dispose (GObject *object)
{
  StudioStepClock *self = STUDIO_STEP_CLOCK (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_object (&self->run);
  g_clear_pointer (&self->spans, g_array_unref);
  g_clear_pointer (&self->folder, g_free);
  G_OBJECT_CLASS (studio_step_clock_parent_class)->dispose (object);
}

static void
studio_step_clock_class_init (StudioStepClockClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = step_clock_dispose;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_STEP_CLOCK, 0);
}

StudioStepClock *
studio_step_clock_new (StudioRun *run)
{
  StudioStepClock *self = g_object_new (STUDIO_TYPE_STEP_CLOCK, NULL);

  self->run = g_object_ref (run);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
  return self;
}
