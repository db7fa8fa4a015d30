/* Reads the trace of the newest step from the worker, and keeps the last one that it has read. A step is recorded
 * because it is requested, so that a view that is hidden or held costs nothing. */
#include "ui/timeline/studio-timeline-view.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "engine/loom.h"
#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/run/run-costs.h"
#include "ui/run/run-report.h"
#include "ui/scene/studio-format.h"
#include "ui/timeline/studio-timeline.h"
#include "ui/timeline/timeline-text.h"

#define PERIOD    1 /* seconds */
#define MAX_BYTES (4 * 1024 * 1024)

#define LANES_HEIGHT 64 /* at least, at scale 1: the axis and two lanes */

struct _StudioTimelineView
{
  GtkBox parent_instance;
  GtkWidget *stack, *scroller, *words, *summary, *legend, *cost;
  AdwStatusPage *nothing;
  StudioTimeline *timeline;
  StudioRun *run;  /* NULL: the view shows a file */
  RunCosts *costs; /* of a run */
  char *title;     /* of the trace */
  guint timer;
  gboolean in_flight, has_spans;
};

G_DEFINE_FINAL_TYPE (StudioTimelineView, studio_timeline_view, GTK_TYPE_BOX)

static void
show_empty (StudioTimelineView *self)
{
  gboolean live = self->run != NULL && studio_run_is_live (self->run);

  if (self->has_spans || self->run == NULL)
    return;
  adw_status_page_set_title (self->nothing, live ? _ ("Not Recorded Yet") : _ ("No Step Recorded"));
  adw_status_page_set_description (self->nothing,
                                   live ? _ ("The next step will be recorded.")
                                        : _ ("Train the graph to see what its ranks and devices do in a step."));
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "nothing");
}

/* A title that shows how many steps a paused run has taken after the trace. A step is recorded at most once a
 * second. */
static char *
dup_later (StudioTimelineView *self, const char *title)
{
  gint64 recorded = timeline_step (title), now = self->run != NULL ? studio_run_get_step (self->run) : -1;

  if (self->run == NULL || recorded < 0 || now <= recorded || studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    return NULL;
  g_autofree char *count = studio_format_count ((double)now);
  return g_strdup_printf (_ ("the newest recorded step; the run is at step %s"), count);
}

static void
show_summary (StudioTimelineView *self)
{
  g_autofree char *summary = studio_timeline_summary (self->timeline), *later = dup_later (self, self->title);
  g_autoptr (GString) s = g_string_new (self->title);
  gint64 step = timeline_step (self->title);

  if (step >= 0)
    {
      g_autofree char *plain = g_strdup_printf ("%" G_GINT64_FORMAT, step), *count = studio_format_count ((double)step);
      g_string_replace (s, plain, count, 1);
    }
  if (later != NULL)
    g_string_append_printf (s, "%s%s", s->len > 0 ? " · " : "", later);
  else if (self->run != NULL && studio_run_get_state (self->run) == STUDIO_RUN_RUNNING
           && studio_timeline_is_held (self->timeline))
    g_string_append_printf (s, "%s%s", s->len > 0 ? " · " : "",
                            _ ("held while the pointer is on it or a box is selected (Esc)"));
  g_string_append_printf (s, "%s%s", s->len > 0 ? "\n" : "", summary != NULL ? summary : "");
  gtk_label_set_label (GTK_LABEL (self->summary), s->str);
}

/* "■ forward ■ backward ■ update" in their colours; a trace without passes needs none. */
static void
show_legend (StudioTimelineView *self, const GArray *spans)
{
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  g_autoptr (GString) s = g_string_new (NULL);
  gboolean any = FALSE;

  for (guint i = 0; spans != NULL && i < spans->len && !any; i++)
    any = g_array_index (spans, LoomTraceSpan, i).phase != LOOM_TRACE_NO_PHASE;
  for (int p = 1; p < LOOM_N_TRACE_PHASES; p++)
    g_string_append_printf (s, "%s<span foreground='#%06x'>■</span> %s", p > 1 ? "    " : "",
                            studio_timeline_colour (p, dark), timeline_phase (p));
  gtk_label_set_markup (GTK_LABEL (self->legend), s->str);
  gtk_widget_set_visible (self->legend, any);
}

static void
show (StudioTimelineView *self, GArray *spans, const char *title)
{
  if (spans == NULL || spans->len == 0)
    {
      show_empty (self);
      return;
    }
  self->has_spans = TRUE;
  studio_timeline_set_spans (self->timeline, spans);
  show_legend (self, spans);
  g_free (self->title);
  self->title = g_strdup (title);
  show_summary (self);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "lanes");
}

/* Shows that the file is not a trace, or that it is empty. */
static void
show_error (StudioTimelineView *self, const char *path, const GError *error)
{
  g_autofree char *name = g_path_get_basename (path), *title = g_strdup_printf (_ ("“%s” is not a trace"), name);
  g_autofree char *escaped = g_markup_escape_text (error != NULL ? error->message : "", -1);

  adw_status_page_set_title (self->nothing, title);
  adw_status_page_set_description (self->nothing, error != NULL
                                                      ? escaped
                                                      : _ ("It contains no step of a Gradloom run. Record one with "
                                                           "gradloom train --trace or gradloom simulate --trace."));
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "nothing");
}

/* A request to read a trace in a thread: with many ranks and layers that takes longer than a frame. */
typedef struct
{
  char *path;       /* or values */
  gboolean is_run;  /* path is the folder of a run */
  GVariant *values; /* the trace as bytes */
  char *title;
} Reading;

static void
reading_free (gpointer data)
{
  Reading *reading = data;

  g_free (reading->path);
  g_clear_pointer (&reading->values, g_variant_unref);
  g_free (reading->title);
  g_free (reading);
}

static void
reading_cb (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Reading *reading = data;
  GError *error = NULL;
  GArray *spans;

  if (reading->values != NULL)
    {
      gsize n;
      const char *text = g_variant_get_fixed_array (reading->values, &n, 1);

      spans = loom_trace_parse (text, n, &reading->title, NULL);
    }
  else if (reading->is_run)
    spans = loom_trace_read_run (reading->path, &reading->title, &error);
  else
    spans = loom_trace_read (reading->path, &reading->title, &error);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, spans, (GDestroyNotify)g_array_unref);
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  StudioTimelineView *self = STUDIO_TIMELINE_VIEW (source);
  const Reading *reading = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) spans = g_task_propagate_pointer (G_TASK (result), &error);

  self->in_flight = FALSE;
  if (self->timeline == NULL)
    return;
  /* Requested before the step was held that is shown. */
  if (self->run != NULL && self->has_spans && studio_timeline_is_held (self->timeline))
    return;
  if (self->run == NULL && (spans == NULL || spans->len == 0))
    show_error (self, reading->path, error);
  else
    show (self, spans, reading->title);
}

/* path, values: one of them is NULL. (transfer full) */
static void
begin_reading (StudioTimelineView *self, char *path, GVariant *values)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, read_cb, NULL);
  Reading *reading = g_new0 (Reading, 1);

  reading->path = path;
  reading->values = values;
  reading->is_run = self->run != NULL;
  self->in_flight = TRUE;
  g_task_set_task_data (task, reading, reading_free);
  g_task_run_in_thread (task, reading_cb);
}

/* Holds the view, which may be removed before the reply arrives. */
static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioTimelineView) self = data;
  g_autoptr (GVariant) values = run_report_finish (source, result, NULL, NULL);

  self->in_flight = FALSE;
  if (self->run != NULL && values != NULL)
    begin_reading (self, NULL, g_steal_pointer (&values));
}

static gboolean
refresh (gpointer data)
{
  StudioTimelineView *self = data;
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  StudioRunState state = studio_run_get_state (self->run);

  const char *folder = studio_run_get_folder (self->run);

  if (proxy == NULL && !self->has_spans && !self->in_flight && folder != NULL)
    begin_reading (self, g_strdup (folder), NULL);
  if (!gtk_widget_get_mapped (GTK_WIDGET (self)) || proxy == NULL || self->in_flight
      || (state != STUDIO_RUN_RUNNING && self->has_spans)
      || (self->has_spans && studio_timeline_is_held (self->timeline)))
    return G_SOURCE_CONTINUE;
  self->in_flight = TRUE;
  run_report_async (proxy, LOOM_SNAPSHOT_TRACE, MAX_BYTES, NULL, answer_cb, g_object_ref (self));
  run_costs_request (self->costs);
  return G_SOURCE_CONTINUE;
}

static void
state_cb (StudioRun *run, StudioTimelineView *self)
{
  if (studio_run_get_state (run) == STUDIO_RUN_STARTING)
    self->has_spans = FALSE;
  show_empty (self);
  if (self->has_spans)
    show_summary (self);
  refresh (self);
}

static void
described_cb (StudioTimelineView *self, const char *text)
{
  gtk_label_set_label (
      GTK_LABEL (self->words),
      text != NULL ? text : _ ("Point at a box, or select one with the arrow keys. Zoom with the wheel, + and −."));
  if (self->has_spans)
    show_summary (self);
}

static void
costs_cb (gpointer data)
{
  StudioTimelineView *self = data;
  const char *cost = run_costs_of (self->costs, LOOM_SNAPSHOT_TRACE);
  g_autofree char *text
      = cost != NULL ? g_strdup_printf (_ ("Recording a step costs the run %s."), cost) : g_strdup ("");

  gtk_label_set_label (GTK_LABEL (self->cost), text);
  gtk_widget_set_visible (self->cost, cost != NULL);
}

/* ---- widget ------------------------------------------------------------------------ */

static void
timeline_view_dispose (GObject *object)
{
  StudioTimelineView *self = STUDIO_TIMELINE_VIEW (object);

  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->timeline != NULL)
    g_signal_handlers_disconnect_by_data (self->timeline, self);
  self->timeline = NULL;
  g_clear_pointer (&self->costs, run_costs_free);
  g_clear_object (&self->run);
  g_clear_pointer (&self->title, g_free);
  G_OBJECT_CLASS (studio_timeline_view_parent_class)->dispose (object);
}

static void
studio_timeline_view_class_init (StudioTimelineViewClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = timeline_view_dispose;
  g_type_ensure (STUDIO_TYPE_TIMELINE);
  STUDIO_TEMPLATE (klass, "studio-timeline-view.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioTimelineView, stack, nothing, scroller, timeline, summary, legend, words,
                            cost);
  STUDIO_TEMPLATE_CALLBACKS (klass, described_cb);
}

static void
studio_timeline_view_init (StudioTimelineView *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (self->scroller),
                                              (int)(LANES_HEIGHT * studio_text_scale (GTK_WIDGET (self))));
  described_cb (self, NULL);
}

StudioTimelineView *
studio_timeline_view_new (StudioRun *run)
{
  StudioTimelineView *self = g_object_new (STUDIO_TYPE_TIMELINE_VIEW, NULL);

  self->run = g_object_ref (run);
  self->costs = run_costs_new (run, costs_cb, self);
  g_signal_connect_object (self->run, "state-changed", G_CALLBACK (state_cb), self, 0);
  g_signal_connect_swapped (self, "map", G_CALLBACK (refresh), self);
  self->timer = g_timeout_add_seconds (PERIOD, refresh, self);
  show_empty (self);
  return self;
}

StudioTimelineView *
studio_timeline_view_new_for_file (const char *path)
{
  StudioTimelineView *self = g_object_new (STUDIO_TYPE_TIMELINE_VIEW, NULL);

  begin_reading (self, g_strdup (path), NULL);
  return self;
}
