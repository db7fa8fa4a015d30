/* The window with the timeline of a step and, for a run, a page with the losses of its ranks. studio-timeline.c draws
 * the trace; this file requests and reads it.
 *
 * Each request to the worker returns its newest trace and makes it record the next step. Without a worker the window
 * shows the trace file in the run's folder, which has the sixth step. A window that was opened on a file uses
 * neither. */
#include "ui/timeline/studio-timeline-window.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "engine/loom.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/timeline/studio-rank-losses.h"
#include "ui/timeline/studio-timeline.h"
#include "ui/timeline/timeline-text.h"
#include "ui/scene/studio-format.h"

#define WIDTH     900
#define HEIGHT    360
#define PERIOD    1 /* seconds */
#define MAX_BYTES (4 * 1024 * 1024)

typedef struct
{
  GtkWidget *window, *stack, *words, *summary, *legend;
  AdwStatusPage *nothing;
  StudioTimeline *timeline;
  StudioRun *run; /* NULL: the window shows a file */
  char *title;    /* of the trace */
  guint timer;
  gboolean in_flight, has_spans;
} View;

static void
show_empty (View *self)
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
dup_later (View *self, const char *title)
{
  gint64 recorded = timeline_step (title), now = self->run != NULL ? studio_run_get_step (self->run) : -1;

  if (self->run == NULL || recorded < 0 || now <= recorded || studio_run_get_state (self->run) == STUDIO_RUN_RUNNING)
    return NULL;
  g_autofree char *count = studio_format_count ((double)now);
  return g_strdup_printf (_ ("the newest recorded step; the run is at step %s"), count);
}

static void
show_summary (View *self)
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
  g_string_append_printf (s, "%s%s", s->len > 0 ? "\n" : "", summary != NULL ? summary : "");
  gtk_label_set_label (GTK_LABEL (self->summary), s->str);
}

/* "■ forward ■ backward ■ update" in their colours; a trace without passes needs none. */
static void
show_legend (View *self, const GArray *spans)
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
show (View *self, GArray *spans, const char *title)
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
show_error (View *self, const char *path, const GError *error)
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

/* The window may be destroyed before the thread returns. */
static void
read_cb (GObject *window, GAsyncResult *result, gpointer data)
{
  View *self = g_object_get_data (window, "view");
  const Reading *reading = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) spans = g_task_propagate_pointer (G_TASK (result), &error);

  if (self == NULL)
    return;
  self->in_flight = FALSE;
  if (self->run == NULL && (spans == NULL || spans->len == 0))
    show_error (self, reading->path, error);
  else
    show (self, spans, reading->title);
}

/* path, values: one of them is NULL. (transfer full) */
static void
begin_reading (View *self, char *path, GVariant *values)
{
  g_autoptr (GTask) task = g_task_new (self->window, NULL, read_cb, NULL);
  Reading *reading = g_new0 (Reading, 1);

  reading->path = path;
  reading->values = values;
  reading->is_run = self->run != NULL;
  self->in_flight = TRUE;
  g_task_set_task_data (task, reading, reading_free);
  g_task_run_in_thread (task, reading_cb);
}

/* Holds the view: the window may be destroyed before the reply arrives. */
static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GtkWidget) window = data;
  View *self = g_object_get_data (G_OBJECT (window), "view");
  g_autoptr (GVariant) shape = NULL, full_shape = NULL, values = NULL;
  gint64 step;

  if (self == NULL)
    return;
  self->in_flight = FALSE;
  if (loom_bus_worker1_call_get_snapshot_finish (LOOM_BUS_WORKER1 (source), &step, &shape, &full_shape, &values, result,
                                                 NULL))
    begin_reading (self, NULL, g_steal_pointer (&values));
}

static gboolean
refresh (gpointer data)
{
  View *self = data;
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  StudioRunState state = studio_run_get_state (self->run);

  const char *folder = studio_run_get_folder (self->run);

  if (proxy == NULL && !self->has_spans && !self->in_flight && folder != NULL)
    begin_reading (self, g_strdup (folder), NULL);
  if (proxy == NULL || self->in_flight || (state != STUDIO_RUN_RUNNING && self->has_spans))
    return G_SOURCE_CONTINUE;
  self->in_flight = TRUE;
  loom_bus_worker1_call_get_snapshot (proxy, LOOM_SNAPSHOT_TRACE, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0),
                                      MAX_BYTES, NULL, answer_cb, g_object_ref (self->window));
  return G_SOURCE_CONTINUE;
}

static void
state_cb (StudioRun *run, View *self)
{
  if (studio_run_get_state (run) == STUDIO_RUN_STARTING)
    self->has_spans = FALSE;
  show_empty (self);
  if (self->has_spans)
    show_summary (self);
  refresh (self);
}

static void
described_cb (StudioTimeline *timeline, const char *text, View *self)
{
  gtk_label_set_label (
      GTK_LABEL (self->words),
      text != NULL ? text : _ ("Point at a box, or select one with the arrow keys. Zoom with the wheel, + and −."));
}

static void
view_free (gpointer data)
{
  View *self = data;

  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->run != NULL)
    g_signal_handlers_disconnect_by_data (self->run, self);
  g_clear_object (&self->run);
  g_free (self->title);
  g_free (self);
}

/* The widgets are destroyed with the window, but calls in flight still hold the view. */
static void
destroy_cb (GtkWidget *window, gpointer data)
{
  g_object_set_data (G_OBJECT (window), "view", NULL);
}

static gboolean
close_cb (GtkWidget *window, GVariant *arguments, gpointer data)
{
  gtk_window_close (GTK_WINDOW (window));
  return TRUE;
}

static GtkWidget *
add_label (GtkWidget *box)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "numeric");
  gtk_box_append (GTK_BOX (box), label);
  return label;
}

static GtkWidget *
make_lanes (View *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *scroller = gtk_scrolled_window_new ();

  gtk_widget_set_margin_start (box, 12);
  gtk_widget_set_margin_end (box, 12);
  gtk_widget_set_margin_bottom (box, 12);
  self->summary = add_label (box);
  self->legend = add_label (box);
  self->timeline = studio_timeline_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), GTK_WIDGET (self->timeline));
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), scroller);
  self->words = add_label (box);
  g_signal_connect (self->timeline, "described", G_CALLBACK (described_cb), self);
  described_cb (self->timeline, NULL, self);
  return box;
}

/* Adds the timeline, and for a run a second page with the losses of its ranks. */
static void
add_pages (View *self, GtkWidget *header, GtkWidget *box)
{
  GtkWidget *pages, *switcher;

  gtk_widget_set_vexpand (self->stack, TRUE);
  if (self->run == NULL)
    {
      gtk_box_append (GTK_BOX (box), self->stack);
      return;
    }
  pages = gtk_stack_new ();
  switcher = gtk_stack_switcher_new ();
  gtk_stack_add_titled (GTK_STACK (pages), self->stack, "step", _ ("Step"));
  gtk_stack_add_titled (GTK_STACK (pages), GTK_WIDGET (studio_rank_losses_new (self->run)), "losses",
                        _ ("Loss of Each Rank"));
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (switcher), GTK_STACK (pages));
  adw_header_bar_set_title_widget (ADW_HEADER_BAR (header), switcher);
  gtk_widget_set_vexpand (pages, TRUE);
  gtk_box_append (GTK_BOX (box), pages);
}

/* run: NULL for a file. */
static GtkWidget *
new_window (GtkWindow *parent, StudioRun *run)
{
  View *self = g_new0 (View, 1);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *header = adw_header_bar_new ();
  GtkEventController *keys = gtk_shortcut_controller_new ();
  double scale = studio_text_scale (GTK_WIDGET (parent));

  self->window = adw_window_new ();
  self->run = run != NULL ? g_object_ref (run) : NULL;
  self->stack = gtk_stack_new ();
  self->nothing = ADW_STATUS_PAGE (adw_status_page_new ());
  gtk_widget_add_css_class (header, "flat");
  gtk_stack_add_named (GTK_STACK (self->stack), GTK_WIDGET (self->nothing), "nothing");
  gtk_stack_add_named (GTK_STACK (self->stack), make_lanes (self), "lanes");
  gtk_box_append (GTK_BOX (box), header);
  add_pages (self, header, box);
  adw_window_set_content (ADW_WINDOW (self->window), box);
  gtk_window_set_title (GTK_WINDOW (self->window), _ ("Timeline of a Step"));
  gtk_window_set_transient_for (GTK_WINDOW (self->window), parent);
  gtk_window_set_destroy_with_parent (GTK_WINDOW (self->window), TRUE);
  gtk_window_set_default_size (GTK_WINDOW (self->window), (int)(WIDTH * MIN (scale, 1.3)),
                               (int)(HEIGHT * MIN (scale, 1.5)));
  for (guint i = 0; i < 2; i++)
    gtk_shortcut_controller_add_shortcut (
        GTK_SHORTCUT_CONTROLLER (keys),
        gtk_shortcut_new (gtk_keyval_trigger_new (i == 0 ? GDK_KEY_Escape : GDK_KEY_w, i == 0 ? 0 : GDK_CONTROL_MASK),
                          gtk_callback_action_new (close_cb, NULL, NULL)));
  gtk_widget_add_controller (self->window, keys);
  g_object_set_data_full (G_OBJECT (self->window), "view", self, view_free);
  g_signal_connect (self->window, "destroy", G_CALLBACK (destroy_cb), NULL);
  return self->window;
}

static void
follow_run (View *self)
{
  g_signal_connect (self->run, "state-changed", G_CALLBACK (state_cb), self);
  self->timer = g_timeout_add_seconds (PERIOD, refresh, self);
  show_empty (self);
  refresh (self);
}

void
studio_timeline_window_present (GtkWindow *parent, GtkWidget **window, StudioRun *run)
{
  if (*window == NULL)
    {
      g_set_weak_pointer (window, new_window (parent, run));
      follow_run (g_object_get_data (G_OBJECT (*window), "view"));
    }
  gtk_window_present (GTK_WINDOW (*window));
}

GtkWidget *
studio_timeline_window_open (GtkWindow *parent, const char *path)
{
  GtkWidget *window = new_window (parent, NULL);
  g_autofree char *name = g_path_get_basename (path);

  gtk_window_set_title (GTK_WINDOW (window), name);
  begin_reading (g_object_get_data (G_OBJECT (window), "view"), g_strdup (path), NULL);
  gtk_window_present (GTK_WINDOW (window));
  return window;
}
