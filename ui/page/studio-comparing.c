/* Implements studio-comparing.h. */
#include "ui/page/studio-comparing.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-type.h"
#include "ui/document/studio-document-history.h"
#include "ui/history/studio-compare-pane.h"
#include "ui/page/selected-node.h"
#include "ui/scene/studio-allowed-paths.h"
#include "ui/shell/studio-toasts.h"
#include "ui/start/studio-files.h"

#define PAGE "compare"

struct _StudioComparing
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  StudioPanes *panes;
  GtkWidget *toasts;
  GtkWidget *pane; /* NULL: nothing is compared */
  GtkFileChooserNative *chooser;
};

STUDIO_DEFINE_TYPE (StudioComparing, studio_comparing, G_TYPE_OBJECT)

static guint changed_signal;

void
studio_comparing_end (StudioComparing *self)
{
  if (self->pane == NULL)
    return;
  self->pane = NULL;
  studio_canvas_set_comparison (self->canvas, NULL);
  studio_panes_remove_page (self->panes, PAGE);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
  g_signal_emit (self, changed_signal, 0);
}

static gboolean
key_cb (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state, StudioComparing *self)
{
  if (key != GDK_KEY_Escape || (state & gtk_accelerator_get_default_mod_mask ()) != 0 || self->pane == NULL)
    return FALSE;
  studio_comparing_end (self);
  return TRUE;
}

void
studio_comparing_watch_keys (StudioComparing *self, GtkWidget *widget)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  g_signal_connect_object (keys, "key-pressed", G_CALLBACK (key_cb), self, 0);
  gtk_widget_add_controller (widget, keys);
}

gboolean
studio_comparing_is_on (StudioComparing *self)
{
  return self->pane != NULL;
}

static void
follow_cb (StudioComparePane *pane, const LoomDifference *d, StudioComparing *self)
{
  StudioComparison *comparison = g_object_get_data (G_OBJECT (pane), "comparison");
  double x, y;

  /* A difference that belongs to no card is about training; its settings are shown if nothing is selected. */
  if (!studio_comparison_reveal (comparison, d))
    {
      studio_document_select_only (self->document, 0);
      studio_panes_show_page (self->panes, "inspector");
    }
  else if (d->name != NULL && studio_comparison_find_ghost (comparison, d->name, &x, &y))
    studio_canvas_look_at (self->canvas, x, y);
  else
    {
      g_autofree char *path = selected_node_dup_path (self->document);

      if (path != NULL)
        studio_canvas_focus_path (self->canvas, path);
    }
}

/* Takes ownership of the graph. action and label: a button that opens it. */
static void
compare_with (StudioComparing *self, LoomGraph *graph, const char *title, const char *action, const char *label)
{
  g_autoptr (StudioComparison) comparison = studio_comparison_new (self->document, graph, title);

  studio_comparing_end (self);
  studio_panes_want (self->panes);
  self->pane = GTK_WIDGET (studio_compare_pane_new (comparison, action, label));
  g_object_set_data_full (G_OBJECT (self->pane), "comparison", g_object_ref (comparison), g_object_unref);
  g_signal_connect_object (self->pane, "follow", G_CALLBACK (follow_cb), self, 0);
  g_signal_connect_object (self->pane, "close", G_CALLBACK (studio_comparing_end), self, G_CONNECT_SWAPPED);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, self->pane, PAGE, _ ("Changes"));
  studio_panes_show_page (self->panes, PAGE);
  studio_canvas_set_comparison (self->canvas, comparison);
  studio_compare_pane_focus (STUDIO_COMPARE_PANE (self->pane));
  g_signal_emit (self, changed_signal, 0);
}

/* A graph with faults of grammar is compared as far as it was understood. */
static void
compare_with_file (StudioComparing *self, const char *path, const char *title)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_file (path, faults, &error);

  if (graph == NULL)
    {
      studio_toasts_say (self->toasts, error->message);
      return;
    }
  g_autofree char *own = g_path_get_dirname (path);
  loom_graph_set_guard (graph, own, studio_agreed_has);
  compare_with (self, graph, title, NULL, NULL);
}

static void
response_cb (GtkNativeDialog *dialog, int response, StudioComparing *self)
{
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;

  gtk_native_dialog_hide (dialog);
  if (response == GTK_RESPONSE_ACCEPT && path != NULL)
    compare_with_file (self, path, name);
}

void
studio_comparing_choose (StudioComparing *self)
{
  GtkFileChooserNative *chooser = studio_files_new_chooser (
      GTK_WINDOW (gtk_widget_get_root (self->toasts)), _ ("Compare with a Graph"), GTK_FILE_CHOOSER_ACTION_OPEN,
      _ ("_Compare"), FALSE, studio_document_get_path (self->document));

  g_set_object (&self->chooser, chooser);
  g_object_unref (chooser);
  g_signal_connect_object (chooser, "response", G_CALLBACK (response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

void
studio_comparing_with_saved (StudioComparing *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  g_autofree char *title = path != NULL ? g_strdup_printf (_ ("%s, saved version"), name) : NULL;

  if (path == NULL)
    studio_toasts_say (self->toasts, _ ("This graph was never saved."));
  else
    compare_with_file (self, path, title);
}

void
studio_comparing_with_run (StudioComparing *self)
{
  const char *xml = studio_run_get_graph (self->run);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *graph = xml != NULL ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL) : NULL;

  if (graph == NULL)
    studio_toasts_say (self->toasts, _ ("The run has not written its graph yet."));
  else
    compare_with (self, graph, _ ("the trained version"), "win.show-run", _ ("Open it"));
}

void
studio_comparing_with_entry (StudioComparing *self, guint position)
{
  StudioHistoryEntry entry = studio_document_history_entry (self->document, position);
  g_autofree char *title = g_strdup_printf (_ ("the graph after “%s”"), entry.name);

  compare_with (self, studio_document_graph_at (self->document, position), title, NULL, NULL);
}

void
studio_comparing_with_graph (StudioComparing *self, LoomGraph *graph, const char *title)
{
  compare_with (self, graph, title, NULL, NULL);
}

/* Another graph was opened: it is not the one that was compared. */
static void
history_changed_cb (StudioDocument *document, guint position, guint removed, guint added, StudioComparing *self)
{
  if (position == 0)
    studio_comparing_end (self);
}

static void
comparing_dispose (GObject *object)
{
  StudioComparing *self = STUDIO_COMPARING (object);
  g_clear_object (&self->chooser);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_comparing_parent_class)->dispose (object);
}

static void
studio_comparing_class_init (StudioComparingClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = comparing_dispose;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_COMPARING, 0);
}

StudioComparing *
studio_comparing_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas, StudioPanes *panes,
                      GtkWidget *toasts)
{
  StudioComparing *self = g_object_new (STUDIO_TYPE_COMPARING, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->canvas = canvas;
  self->panes = panes;
  self->toasts = toasts;
  g_signal_connect_object (document, "history-changed", G_CALLBACK (history_changed_cb), self, 0);
  return self;
}
