/* Comparing: the graph beside a file, what was saved, the run's, or itself at an earlier time. The canvas marks what
 * differs, a page lists it, and both follow while one goes on editing. */
#include "ui/history/studio-compare-pane.h"
#include "ui/start/studio-files.h"
#include "ui/page/studio-page-private.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/document/studio-document-history.h"
#include "ui/scene/studio-allowed-paths.h"

#define PAGE "compare"

void
studio_page_end_comparison (StudioPage *self)
{
  if (self->compare_pane == NULL)
    return;
  self->compare_pane = NULL;
  studio_canvas_set_comparison (self->canvas, NULL);
  studio_panes_remove_page (self->panes, PAGE);
  studio_page_focus (self);
  studio_page_update_actions (self);
}

gboolean
studio_page_is_comparing (StudioPage *self)
{
  return self->compare_pane != NULL;
}

static void
follow_cb (StudioComparePane *pane, const LoomDifference *d, StudioPage *self)
{
  StudioComparison *comparison = g_object_get_data (G_OBJECT (pane), "comparison");
  double x, y;

  /* A difference that belongs to no card is about training, whose settings stand where nothing is selected. */
  if (!studio_comparison_reveal (comparison, d))
    {
      studio_document_select_only (self->document, 0);
      studio_panes_show_page (self->panes, "inspector");
    }
  else if (d->name != NULL && studio_comparison_find_ghost (comparison, d->name, &x, &y))
    studio_canvas_look_at (self->canvas, x, y);
  else
    {
      g_autofree char *path = studio_page_dup_selected_path (self);

      if (path != NULL)
        studio_canvas_focus_path (self->canvas, path);
    }
}

/* Takes the graph. action and label: a button that opens it. */
static void
compare_with (StudioPage *self, LoomGraph *graph, const char *title, const char *action, const char *label)
{
  g_autoptr (StudioComparison) comparison = studio_comparison_new (self->document, graph, title);

  studio_page_end_comparison (self);
  if (self->presenting)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.present", NULL);
  self->compare_pane = GTK_WIDGET (studio_compare_pane_new (comparison, action, label));
  g_object_set_data_full (G_OBJECT (self->compare_pane), "comparison", g_object_ref (comparison), g_object_unref);
  g_signal_connect (self->compare_pane, "follow", G_CALLBACK (follow_cb), self);
  g_signal_connect_swapped (self->compare_pane, "close", G_CALLBACK (studio_page_end_comparison), self);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, self->compare_pane, PAGE, _ ("Changes"));
  studio_panes_show_page (self->panes, PAGE);
  studio_canvas_set_comparison (self->canvas, comparison);
  studio_compare_pane_focus (STUDIO_COMPARE_PANE (self->compare_pane));
  studio_page_update_actions (self);
}

/* Faults of grammar are no hindrance: what was understood is compared. */
static void
compare_with_file (StudioPage *self, const char *path, const char *title)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_file (path, faults, &error);

  if (graph == NULL)
    {
      studio_page_toast (self, error->message);
      return;
    }
  g_autofree char *own = g_path_get_dirname (path);
  loom_graph_set_guard (graph, own, studio_agreed_has);
  compare_with (self, graph, title, NULL, NULL);
}

static void
response_cb (GtkNativeDialog *dialog, int response, StudioPage *self)
{
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;

  gtk_native_dialog_hide (dialog);
  if (response == GTK_RESPONSE_ACCEPT && path != NULL)
    compare_with_file (self, path, name);
}

void
studio_page_compare (StudioPage *self)
{
  GtkFileChooserNative *chooser = studio_files_new_chooser (studio_page_get_window (self), _ ("Compare with a Graph"),
                                                            GTK_FILE_CHOOSER_ACTION_OPEN, _ ("_Compare"), FALSE,
                                                            studio_document_get_path (self->document));

  g_set_object (&self->chooser, chooser);
  g_object_unref (chooser);
  g_signal_connect (chooser, "response", G_CALLBACK (response_cb), self);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

void
studio_page_compare_saved (StudioPage *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  g_autofree char *title = path != NULL ? g_strdup_printf (_ ("%s, saved version"), name) : NULL;

  if (path == NULL)
    studio_page_toast (self, _ ("This graph was never saved."));
  else
    compare_with_file (self, path, title);
}

void
studio_page_compare_run (StudioPage *self)
{
  const char *xml = studio_run_get_graph (self->run);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *graph = xml != NULL ? loom_graph_read_data (xml, strlen (xml), "run", faults, NULL) : NULL;

  if (graph == NULL)
    studio_page_toast (self, _ ("The run has not written its graph yet."));
  else
    compare_with (self, graph, _ ("the trained version"), "win.show-run", _ ("Open it"));
}

void
studio_page_compare_entry (StudioPage *self, guint position)
{
  StudioHistoryEntry entry = studio_document_history_entry (self->document, position);
  g_autofree char *title = g_strdup_printf (_ ("the graph after “%s”"), entry.name);

  compare_with (self, studio_document_graph_at (self->document, position), title, NULL, NULL);
}

/* The widget with the focus comes first: Escape leaves a field, a selection or a module before it ends the comparison.
 * */
static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioPage *self)
{
  if (key != GDK_KEY_Escape || (state & gtk_accelerator_get_default_mod_mask ()) != 0 || self->compare_pane == NULL)
    return FALSE;
  studio_page_end_comparison (self);
  return TRUE;
}

/* Another graph was opened: it is not what was compared. */
static void
history_changed_cb (StudioDocument *document, guint position, guint removed, guint added, StudioPage *self)
{
  if (position == 0)
    studio_page_end_comparison (self);
}

void
studio_page_setup_compare (StudioPage *self)
{
  GtkEventController *key = gtk_event_controller_key_new ();

  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), key);
  g_signal_connect (self->document, "history-changed", G_CALLBACK (history_changed_cb), self);
}
