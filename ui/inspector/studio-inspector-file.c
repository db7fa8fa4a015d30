/* The button next to a path's entry: opens a file chooser, and writes the path relative to the graph's folder if it is
 * below that. */
#include "ui/inspector/studio-inspector-private.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-allowed-paths.h"

static char *
path_for_graph (StudioInspector *self, GFile *file)
{
  const char *folder = loom_graph_get_folder (studio_document_get_graph (self->document));
  g_autoptr (GFile) from = folder != NULL ? g_file_new_for_path (folder) : NULL;
  char *path = from != NULL ? g_file_get_relative_path (from, file) : NULL;

  return path != NULL ? path : g_file_get_path (file);
}

/* A chosen file may be read wherever it is. */
static void
agree_to (StudioInspector *self, GFile *file)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *own = path != NULL ? g_path_get_dirname (path) : NULL;
  g_autofree char *target = own != NULL ? loom_path_outside (g_file_peek_path (file), NULL, own) : NULL;
  char *paths[] = { target, NULL };

  studio_allowed_paths_add (paths);
}

static void
response_cb (GtkNativeDialog *dialog, int response, InspectorRow *row)
{
  g_autoptr (GFile) file = NULL;
  g_autofree char *path = NULL;

  if (response != GTK_RESPONSE_ACCEPT)
    return;
  file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  path = file != NULL ? path_for_graph (row->inspector, file) : NULL;
  if (path != NULL)
    agree_to (row->inspector, file);
  if (path != NULL)
    gtk_editable_set_text (GTK_EDITABLE (row->editor), path);
}

static void
destroy_dialog (gpointer dialog)
{
  gtk_native_dialog_destroy (dialog);
  g_object_unref (dialog);
}

static void
clicked_cb (GtkWidget *button, InspectorRow *row)
{
  GtkRoot *root = gtk_widget_get_root (button);
  const char *folder = loom_graph_get_folder (studio_document_get_graph (row->inspector->document));
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      _ ("Choose a File"), GTK_WINDOW (root), GTK_FILE_CHOOSER_ACTION_OPEN, _ ("_Choose"), _ ("_Cancel"));

  if (folder != NULL)
    {
      g_autoptr (GFile) start = g_file_new_for_path (folder);

      gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (dialog), start, NULL);
    }
  g_signal_connect (dialog, "response", G_CALLBACK (response_cb), row);
  /* Cancelled when the button is destroyed, with the row that would be changed. */
  g_object_set_data_full (G_OBJECT (button), "dialog", dialog, destroy_dialog);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

GtkWidget *
inspector_file_button_new (InspectorRow *row)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("document-open-symbolic");
  g_autofree char *label = g_strdup_printf (_ ("Choose a file for %s"), row->spec.name);

  gtk_widget_set_tooltip_text (button, _ ("Choose a file"));
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_signal_connect (button, "clicked", G_CALLBACK (clicked_cb), row);
  return button;
}
