#include "ui/pins/studio-health-watch.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/pins/health-history.h"
#include "ui/run/run-report.h"
#include "ui/scene/studio-format.h"
#include "ui/scene/studio-health.h"

#define MAX_BYTES (4 * 1024 * 1024)
#define PERIOD    500   /* milliseconds between two reports, at least */
#define REST      50    /* and this multiple of the time that the last one took, */
#define MOST      30000 /* but not more: an answer is late also because the machine was busy */

struct _StudioHealthWatch
{
  GObject parent_instance;

  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  StudioRun *run;
  HealthHistory *history;
  GPtrArray *nodes; /* LoomHealthNode, of the newest report; NULL: none */
  char *sentence, *sick, *folder;
  char *problem; /* why there is no report, a sentence; nothing more is requested until something changes */
  gint64 back;
  gint64 step;  /* of the newest report; -1: none */
  gint64 asked; /* monotonic time of the request in flight; 0: none */
  guint timer, n_reports;
};

G_DEFINE_FINAL_TYPE (StudioHealthWatch, studio_health_watch, G_TYPE_OBJECT)

static guint changed_signal;

static void wait_for_next (StudioHealthWatch *self, gint64 milliseconds);

static gboolean
is_on (StudioHealthWatch *self)
{
  gboolean on = FALSE;

  if (self->canvas != NULL)
    g_object_get (self->canvas, "show-health", &on, NULL);
  return on;
}

/* ---- the sentence ----------------------------------------------------------- */

static void
read_changes (StudioHealthWatch *self)
{
  health_history_clear_changes (self->history);
  for (guint i = 0; i < studio_run_get_curves (self->run)->marks->len; i++)
    {
      const StudioRunMark *mark = studio_run_get_curves (self->run)->marks->pdata[i];

      if (mark->name != NULL)
        health_history_add_change (self->history, (gint64)mark->step, mark->name, mark->value);
    }
}

static char *
make_sentence (const HealthDiagnosis *diagnosis)
{
  const StudioCardHealth health = studio_health_of_node (diagnosis->node);
  g_autofree char *complaint = studio_health_complaint (diagnosis->node->node, &health);
  g_autofree char *since = studio_format_count ((double)diagnosis->since);
  g_autofree char *number = g_strdup_printf ("%g", diagnosis->value), *value = studio_format_local (number);

  if (diagnosis->changed != NULL)
    return g_strdup_printf (_ ("%1$s since %2$s became %3$s."), complaint,
                            g_str_equal (diagnosis->changed, "lr") ? _ ("the rate") : diagnosis->changed, value);
  return diagnosis->since >= 0 ? g_strdup_printf (_ ("%1$s since step %2$s."), complaint, since)
                               : g_strdup_printf ("%s.", complaint);
}

static void
diagnose (StudioHealthWatch *self)
{
  HealthDiagnosis diagnosis = { 0 };

  g_clear_pointer (&self->sentence, g_free);
  g_clear_pointer (&self->sick, g_free);
  self->back = -1;
  if (self->problem != NULL)
    self->sentence
        = g_strdup_printf (_ ("Health is not measured: %s Switch it off and on to try again."), self->problem);
  if (self->nodes == NULL)
    return;
  read_changes (self);
  diagnosis = health_history_diagnose (self->history, self->nodes);
  if (diagnosis.node == NULL)
    return;
  self->sick = g_strdup (diagnosis.node->node);
  self->sentence = make_sentence (&diagnosis);
  if (diagnosis.well > 0)
    self->back = studio_run_find_checkpoint (self->run, diagnosis.changed != NULL ? diagnosis.change : diagnosis.well);
  if (self->back > 0)
    return;
  self->back = -1; /* the beginning is a restart */
  if (diagnosis.well >= 0)
    {
      g_autofree char *sentence = g_steal_pointer (&self->sentence);

      self->sentence
          = g_strdup_printf (_ ("%s There is no checkpoint from before: lower the rate and restart."), sentence);
    }
}

/* ---- reports ---------------------------------------------------------------- */

static void
show (StudioHealthWatch *self)
{
  diagnose (self);
  if (self->canvas != NULL)
    studio_canvas_set_health (self->canvas, self->nodes, self->sick, self->sentence);
  g_signal_emit (self, changed_signal, 0);
}

static void
forget (StudioHealthWatch *self)
{
  self->step = -1;
  g_clear_pointer (&self->problem, g_free);
  g_clear_pointer (&self->nodes, g_ptr_array_unref);
  show (self);
}

static void
take_failure (StudioHealthWatch *self, const char *why)
{
  forget (self);
  self->problem = g_strdup (why);
  show (self);
}

static void
take_report (StudioHealthWatch *self, gint64 step, const char *text, gsize length)
{
  GPtrArray *nodes = loom_health_from_text (text, length);

  if (nodes == NULL)
    {
      take_failure (self, _ ("the worker’s report cannot be read."));
      return;
    }
  g_clear_pointer (&self->nodes, g_ptr_array_unref);
  self->nodes = nodes;
  self->step = step;
  self->n_reports++;
  health_history_add (self->history, step, nodes);
  show (self);
}

static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioHealthWatch) self = data;
  g_autoptr (GError) error = NULL;
  const gint64 took = (g_get_monotonic_time () - self->asked) / 1000;
  gint64 step;
  g_autoptr (GVariant) text = run_report_finish (source, result, &step, &error);

  self->asked = 0;
  const gboolean is_current = is_on (self) && studio_run_get_proxy (self->run) == LOOM_BUS_WORKER1 (source)
                              && studio_document_run_changes (self->document) == 0;
  if (is_current && text != NULL)
    take_report (self, step, g_variant_get_data (text), g_variant_get_size (text));
  /* The run says itself if its worker has ended. */
  else if (is_current && g_dbus_error_is_remote_error (error))
    {
      g_dbus_error_strip_remote_error (error);
      take_failure (self, error->message);
    }
  wait_for_next (self, CLAMP (REST * took, PERIOD, MOST));
}

/* A run that stands has nothing new. */
static gboolean
is_wanted (StudioHealthWatch *self)
{
  const StudioRunState state = studio_run_get_state (self->run);

  return is_on (self) && self->problem == NULL && gtk_widget_get_mapped (GTK_WIDGET (self->canvas))
         && studio_run_get_proxy (self->run) != NULL && state != STUDIO_RUN_IDLE && state != STUDIO_RUN_STARTING
         && studio_document_run_changes (self->document) == 0
         && (state == STUDIO_RUN_RUNNING || self->step != studio_run_get_step (self->run));
}

static void
request (StudioHealthWatch *self)
{
  if (self->asked != 0 || self->timer != 0 || !is_wanted (self))
    return;
  self->asked = g_get_monotonic_time ();
  run_report_async (studio_run_get_proxy (self->run), LOOM_SNAPSHOT_HEALTH, MAX_BYTES, NULL, answer_cb,
                    g_object_ref (self));
}

static gboolean
timer_cb (gpointer data)
{
  StudioHealthWatch *self = data;

  self->timer = 0;
  request (self);
  return G_SOURCE_REMOVE;
}

static void
wait_for_next (StudioHealthWatch *self, gint64 milliseconds)
{
  if (self->timer == 0 && self->canvas != NULL)
    self->timer = g_timeout_add ((guint)milliseconds, timer_cb, self);
}

/* ---- what it depends on ----------------------------------------------------- */

/* Another folder is another run. A run that was paused, or trains again, may have a report. */
static void
run_cb (StudioHealthWatch *self)
{
  const char *folder = studio_run_get_folder (self->run);

  if (self->problem != NULL)
    forget (self);
  if (g_strcmp0 (folder, self->folder) != 0)
    {
      g_free (self->folder);
      self->folder = g_strdup (folder);
      health_history_clear (self->history);
      self->n_reports = 0;
      forget (self);
    }
  request (self);
}

static void
mode_cb (StudioHealthWatch *self)
{
  if (is_on (self))
    request (self);
  else
    forget (self);
}

/* The report does not belong to a changed graph. */
static void
document_cb (StudioHealthWatch *self)
{
  if (self->nodes != NULL && studio_document_run_changes (self->document) > 0)
    forget (self);
  request (self);
}

const char *
studio_health_watch_get_sentence (StudioHealthWatch *self)
{
  return self->sentence;
}

const char *
studio_health_watch_get_sick (StudioHealthWatch *self)
{
  return self->sick;
}

gint64
studio_health_watch_get_back (StudioHealthWatch *self)
{
  return self->back;
}

guint
studio_health_watch_n_reports (StudioHealthWatch *self)
{
  return self->n_reports;
}

/* ---- object ----------------------------------------------------------------- */

static void
health_watch_dispose (GObject *object)
{
  StudioHealthWatch *self = STUDIO_HEALTH_WATCH (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_weak_pointer (&self->canvas);
  G_OBJECT_CLASS (studio_health_watch_parent_class)->dispose (object);
}

static void
health_watch_finalize (GObject *object)
{
  StudioHealthWatch *self = STUDIO_HEALTH_WATCH (object);

  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->nodes, g_ptr_array_unref);
  g_clear_pointer (&self->history, health_history_free);
  g_free (self->sentence);
  g_free (self->sick);
  g_free (self->problem);
  g_free (self->folder);
  G_OBJECT_CLASS (studio_health_watch_parent_class)->finalize (object);
}

static void
studio_health_watch_class_init (StudioHealthWatchClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = health_watch_dispose;
  G_OBJECT_CLASS (klass)->finalize = health_watch_finalize;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_HEALTH_WATCH, 0);
}

static void
studio_health_watch_init (StudioHealthWatch *self)
{
  self->history = health_history_new ();
  self->step = self->back = -1;
}

StudioHealthWatch *
studio_health_watch_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run)
{
  StudioHealthWatch *self = g_object_new (STUDIO_TYPE_HEALTH_WATCH, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (run_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "points", G_CALLBACK (request), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (canvas, "notify::show-health", G_CALLBACK (mode_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (canvas, "map", G_CALLBACK (request), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (document_cb), self, G_CONNECT_SWAPPED);
  return self;
}
