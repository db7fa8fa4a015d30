/* Opens files by kind, whether dropped, chosen or named on the command line: graphs, ONNX models, tables, traces and
 * weights. Also opens the window “New from Data”. */
#include <glib/gi18n.h>

#include "ui/run/studio-timeline-window.h"
#include "ui/start/studio-import.h"
#include "ui/start/studio-new-dialog.h"
#include "ui/start/studio-weights-dialog.h"
#include "ui/training/studio-training-settings.h"
#include "ui/window/studio-files.h"
#include "ui/window/studio-question.h"
#include "ui/window/studio-toasts.h"
#include "ui/window/studio-window-private.h"

/* Either dialog has created a graph. */
static void
made_cb (GtkWidget *dialog, const char *text, StudioWindow *self)
{
  g_autoptr (GError) error = NULL;
  if (!studio_page_open_text (studio_window_get_free_page (self), text, -1, &error))
    studio_window_toast (self, error->message);
}

static void
present_dialog (StudioWindow *self, const char *csv)
{
  StudioNewDialog *dialog = studio_new_dialog_new (GTK_WINDOW (self), csv);
  g_signal_connect_object (dialog, "made", G_CALLBACK (made_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

void
studio_window_new_from_data (StudioWindow *self)
{
  present_dialog (self, NULL);
}

/* ---- files ------------------------------------------------------------------------ */

static void
take_graph (StudioWindow *self, GFile *file)
{
  studio_window_open_file (self, file);
}

static void
take_table (StudioWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  if (path != NULL)
    present_dialog (self, path);
}

/* An ONNX model being read, asked about and written; while it is read a toast shows that and can cancel. */
typedef struct
{
  GWeakRef window;
  AdwToast *toast;
  GCancellable *cancellable;
  char *name;
  StudioImport *model; /* NULL: not read yet */
} Import;

static void
import_free (Import *import)
{
  g_weak_ref_clear (&import->window);
  g_object_unref (import->toast);
  g_object_unref (import->cancellable);
  g_free (import->name);
  studio_import_free (import->model);
  g_free (import);
}

static void
import_failed (Import *import, StudioWindow *self, const GError *error)
{
  g_autofree char *heading = g_strdup_printf (_ ("“%s” cannot be opened"), import->name);

  if (self != NULL && self->page != NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    studio_page_toast_lasting (self->page, heading, error->message);
}

static void
imported_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Import *import = data;
  g_autoptr (StudioWindow) self = g_weak_ref_get (&import->window);
  g_autoptr (GError) error = NULL;

  if (!studio_import_save_finish (result, &error))
    import_failed (import, self, error);
  else if (self != NULL && self->page != NULL)
    {
      const char *path = studio_import_get_path (import->model), *notes = studio_import_get_notes (import->model);
      g_autoptr (GFile) file = g_file_new_for_path (path);
      g_autofree char *name = g_path_get_basename (path);
      g_autofree char *sentence
          = g_strdup_printf (_ ("The model was imported as %s, with its weights in the same folder."), name);

      studio_window_open_file (self, file);
      if (*notes != '\0')
        studio_page_toast_lasting (self->page, sentence, notes);
      else
        studio_window_toast (self, sentence);
    }
  import_free (import);
}

static void
import_response_cb (AdwMessageDialog *dialog, const char *response, Import *import)
{
  if (g_str_equal (response, "import"))
    studio_import_save_async (import->model, imported_cb, import);
  else
    import_free (import);
}

/* "Import “mlp.onnx”?", with what is written where. */
static void
ask_before_import (StudioWindow *self, Import *import)
{
  const char *path = studio_import_get_path (import->model), *weights = studio_import_get_weights_path (import->model);
  g_autofree char *graph_name = g_path_get_basename (path), *folder = g_path_get_dirname (path);
  g_autofree char *weights_name = weights != NULL ? g_path_get_basename (weights) : NULL;
  g_autofree char *bytes = loom_bytes_to_string ((double)studio_import_get_bytes (import->model));
  g_autofree char *heading = g_strdup_printf (_ ("Import “%s”?"), import->name);
  g_autofree char *body
      = weights != NULL
            ? g_strdup_printf (_ ("Two files are written to %1$s: the graph %2$s, and its weights %3$s, %4$s."), folder,
                               graph_name, weights_name, bytes)
            : g_strdup_printf (_ ("The graph is written to %1$s as %2$s."), folder, graph_name);
  AdwMessageDialog *dialog = studio_question_new (GTK_WINDOW (self), heading, body);

  adw_message_dialog_add_response (dialog, "import", _ ("_Import"));
  adw_message_dialog_set_response_appearance (dialog, "import", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "import");
  g_signal_connect (dialog, "response", G_CALLBACK (import_response_cb), import);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
model_read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Import *import = data;
  g_autoptr (StudioWindow) self = g_weak_ref_get (&import->window);
  g_autoptr (GError) error = NULL;

  studio_toast_dismiss (import->toast);
  import->model = studio_import_read_finish (result, &error);
  if (import->model != NULL && self != NULL && self->page != NULL)
    {
      ask_before_import (self, import);
      return;
    }
  if (import->model == NULL)
    import_failed (import, self, error);
  import_free (import);
}

static void
take_model (StudioWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file), *text = NULL;
  Import *import;

  if (path == NULL)
    return;
  import = g_new0 (Import, 1);
  import->name = g_file_get_basename (file);
  text = g_markup_printf_escaped (_ ("Reading “%s”…"), import->name);
  g_weak_ref_init (&import->window, self);
  import->cancellable = g_cancellable_new ();
  import->toast = g_object_ref (adw_toast_new (text));
  adw_toast_set_timeout (import->toast, 0);
  adw_toast_set_button_label (import->toast, _ ("Cancel"));
  g_signal_connect_object (import->toast, "button-clicked", G_CALLBACK (g_cancellable_cancel), import->cancellable,
                           G_CONNECT_SWAPPED);
  studio_page_add_toast (self->page, import->toast);
  studio_import_read_async (path, import->cancellable, model_read_cb, import);
}

/* ---- weights ---------------------------------------------------------------------- */

/* The path as the graph stores it: relative if the file is in or below the graph's folder. */
static char *
path_for_graph (StudioPage *page, const char *path)
{
  const char *folder = loom_graph_get_folder (studio_document_get_graph (studio_page_get_document (page)));
  g_autoptr (GFile) from = folder != NULL ? g_file_new_for_path (folder) : NULL, file = g_file_new_for_path (path);
  char *relative = from != NULL ? g_file_get_relative_path (from, file) : NULL;
  return relative != NULL ? relative : g_strdup (path);
}

static void
used_cb (StudioWeightsDialog *dialog, StudioPage *page)
{
  const StudioWeightsInfo *look = studio_weights_dialog_get_info (dialog);
  g_autofree char *path = path_for_graph (page, look->path), *name = g_path_get_basename (look->path);
  g_autofree char *sentence
      = g_strdup_printf (ngettext ("Training starts from %1$s: %2$u weight fits.",
                                   "Training starts from %1$s: %2$u weights fit.", look->match->n_fit),
                         name, look->match->n_fit);
  studio_training_set (studio_page_get_document (page), "weights", path);
  studio_page_toast (page, sentence);
}

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioPage) page = data;
  g_autoptr (GError) error = NULL;
  StudioWeightsInfo *look = studio_weights_inspect_finish (result, &error);
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (page));

  if (!STUDIO_IS_WINDOW (root))
    {
      studio_weights_info_free (look);
      return;
    }
  if (look == NULL)
    {
      studio_page_toast_lasting (page, _ ("These weights cannot be opened"), error->message);
      return;
    }
  StudioWeightsDialog *dialog = studio_weights_dialog_new (GTK_WINDOW (root), look);
  g_signal_connect_object (dialog, "used", G_CALLBACK (used_cb), page, 0);
  g_signal_connect_object (dialog, "made", G_CALLBACK (made_cb), root, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
take_weights (StudioWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  StudioDocument *document = studio_page_get_document (self->page);

  if (path != NULL)
    studio_weights_inspect_async (path,
                                  studio_document_is_empty (document) ? NULL : studio_document_get_graph (document),
                                  looked_cb, g_object_ref (self->page));
}

static void
take_trace (StudioWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    studio_timeline_window_open (GTK_WINDOW (self), path);
}

/* The function for each kind of file. */
static void (*const takers[]) (StudioWindow *self, GFile *file) = {
  [STUDIO_FILE_GRAPH] = take_graph,     [STUDIO_FILE_TABLE] = take_table, [STUDIO_FILE_MODEL] = take_model,
  [STUDIO_FILE_WEIGHTS] = take_weights, [STUDIO_FILE_TRACE] = take_trace,
};

gboolean
studio_window_take_file (StudioWindow *self, GFile *file)
{
  const StudioFileKind kind = studio_files_kind (file);
  if (kind < G_N_ELEMENTS (takers))
    {
      takers[kind](self, file);
      return TRUE;
    }
  g_autofree char *name = g_file_get_basename (file);
  g_autofree char *sentence
      = g_strdup_printf (_ ("“%s” cannot be opened. Studio opens graphs (.xml), tables (.csv, .tsv), models (.onnx), "
                            "weights (.safetensors) and traces of a step (.json)."),
                         name);
  studio_window_toast (self, sentence);
  return FALSE;
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, StudioWindow *self)
{
  const GSList *files = g_value_get_boxed (value);
  return files != NULL && studio_window_take_file (self, files->data);
}

void
studio_window_setup_start (StudioWindow *self)
{
  GtkDropTarget *target = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
  g_signal_connect (target, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}
