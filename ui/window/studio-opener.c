/* Implements studio-opener.h. */
#include "ui/window/studio-opener.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/document/studio-example.h"
#include "ui/document/studio-journal.h"
#include "ui/page/open-documents.h"
#include "ui/timeline/studio-timeline-window.h"
#include "ui/shell/studio-question.h"
#include "ui/shell/studio-toasts.h"
#include "ui/start/studio-files.h"
#include "ui/start/studio-import.h"
#include "ui/start/studio-new-dialog.h"
#include "ui/start/studio-size-form.h"
#include "ui/start/studio-weights-dialog.h"
#include "ui/training/studio-training-settings.h"
#include "ui/window/studio-lecture.h"

struct _StudioOpener
{
  GObject parent_instance;
  GtkWindow *window;
  StudioTabs *tabs;
  StudioRecoveryBar *recovery;
  GtkFileChooserNative *chooser;
};

STUDIO_DEFINE_TYPE (StudioOpener, studio_opener, G_TYPE_OBJECT)

/* ---- graphs ------------------------------------------------------------------------------------- */

/* If a page of any window already has this file, shows it and returns TRUE. */
static gboolean
present_file (GFile *file)
{
  GtkWidget *widget = open_documents_find_page (file);
  StudioPage *has = widget != NULL ? STUDIO_PAGE (widget) : NULL;
  StudioTabs *tabs = has != NULL ? studio_tabs_find (has) : NULL;
  if (tabs == NULL)
    return FALSE;
  g_autofree char *name = g_file_get_basename (file), *text = g_strdup_printf (_ ("“%s” is open here already."), name);
  studio_tabs_show_page (tabs, has);
  gtk_window_present (GTK_WINDOW (gtk_widget_get_root (widget)));
  studio_page_toast (has, text);
  return TRUE;
}

/* A file that is gone is no recent file any more. */
static void
forget_missing (GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL && !g_file_query_exists (file, NULL))
    studio_files_refuse (path);
}

/* A new tab is added only after the graph was read; errors are shown in the current page. */
void
studio_opener_open_file (StudioOpener *self, GFile *file)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (StudioPage) page = NULL;
  if (present_file (file))
    return;
  StudioPage *current = studio_tabs_get_page (self->tabs);
  const gboolean here = studio_page_is_untouched (current);
  page = here ? g_object_ref (current) : g_object_ref_sink (studio_page_new ());
  if (!studio_page_open_file (page, file, &error))
    {
      g_autofree char *name = g_file_get_basename (file);
      g_autofree char *heading = g_strdup_printf (_ ("“%s” cannot be opened"), name);
      studio_page_toast_lasting (current, heading, error->message);
      forget_missing (file);
    }
  else if (!here)
    studio_tabs_insert_page (self->tabs, page);
}

void
studio_opener_attach_run (StudioOpener *self, const char *folder)
{
  g_autoptr (GFile) file = g_file_new_build_filename (folder, LOOM_RUN_GRAPH, NULL);
  GtkWidget *page;

  studio_opener_open_file (self, file);
  page = open_documents_find_page (file);
  /* Else the sentence why not is shown. */
  if (page != NULL)
    gtk_widget_activate_action (page, "win.attach-here", "s", folder);
}

void
studio_opener_new_graph (StudioOpener *self)
{
  studio_page_reset (studio_tabs_get_free_page (self->tabs));
}

void
studio_opener_open_example (StudioOpener *self, const char *name)
{
  g_autoptr (GError) error = NULL;
  if (!studio_page_open_example (studio_tabs_get_free_page (self->tabs), name, &error))
    studio_tabs_say (self->tabs, error->message);
}

void
studio_opener_open_lecture (StudioOpener *self, const char *name)
{
  g_autoptr (GError) error = NULL;
  if (!studio_lecture_open_example (self->tabs, name, &error))
    studio_tabs_say (self->tabs, error->message);
}

void
studio_opener_open_example_of (StudioOpener *self, const char *name)
{
  const LoomOp *op = loom_op (name);
  g_autofree char *text = op != NULL ? studio_example_text (op) : NULL;
  g_autoptr (GError) error = NULL;
  if (text != NULL && !studio_page_open_text (studio_tabs_get_free_page (self->tabs), text, -1, &error))
    studio_tabs_say (self->tabs, error->message);
}

static void
response_cb (GtkNativeDialog *dialog, int response, StudioOpener *self)
{
  if (response != GTK_RESPONSE_ACCEPT)
    return;
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  if (file != NULL)
    studio_opener_take_file (self, file);
}

void
studio_opener_choose_file (StudioOpener *self)
{
  g_clear_object (&self->chooser);
  self->chooser = studio_files_new_chooser (
      self->window, _ ("Open a File"), GTK_FILE_CHOOSER_ACTION_OPEN, _ ("_Open"), TRUE,
      studio_document_get_path (studio_page_get_document (studio_tabs_get_page (self->tabs))));
  g_signal_connect_object (self->chooser, "response", G_CALLBACK (response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
}

void
studio_opener_cancel (StudioOpener *self)
{
  if (self->chooser != NULL)
    gtk_native_dialog_hide (GTK_NATIVE_DIALOG (self->chooser));
  g_clear_object (&self->chooser);
}

void
studio_opener_open_uri (StudioOpener *self, const char *uri)
{
  g_autoptr (GFile) file = g_file_new_for_uri (uri);
  studio_opener_open_file (self, file);
}

/* ---- files by kind ------------------------------------------------------------------------------ */

/* Either dialog has created a graph. */
static void
made_cb (GtkWidget *dialog, const char *text, StudioTabs *tabs)
{
  g_autoptr (GError) error = NULL;
  if (!studio_page_open_text (studio_tabs_get_free_page (tabs), text, -1, &error))
    studio_tabs_say (tabs, error->message);
}

static void
present_dialog (StudioOpener *self, const char *csv)
{
  StudioNewDialog *dialog = studio_new_dialog_new (self->window, csv);
  g_signal_connect_object (dialog, "made", G_CALLBACK (made_cb), self->tabs, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

void
studio_opener_new_from_data (StudioOpener *self)
{
  present_dialog (self, NULL);
}

/* ---- files ------------------------------------------------------------------------ */

static void
take_graph (StudioOpener *self, GFile *file)
{
  studio_opener_open_file (self, file);
}

static void
take_table (StudioOpener *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  if (path != NULL)
    present_dialog (self, path);
}

/* An ONNX model being read, asked about and written; while it is read a toast shows that and can cancel. Each of the
 * three has a reference: the dialog may be destroyed without a response. */
typedef struct
{
  GWeakRef opener;
  AdwToast *toast;
  GCancellable *cancellable;
  char *path, *name;
  StudioImport *model;   /* NULL: not read yet */
  gboolean is_confirmed; /* it is written without a question */
} Import;

static void read_model (StudioOpener *self, const char *path, const char *const *sizes, gboolean keeps_batch,
                        gboolean is_confirmed);

static void
import_clear (gpointer data)
{
  Import *import = data;

  g_weak_ref_clear (&import->opener);
  g_object_unref (import->toast);
  g_object_unref (import->cancellable);
  g_free (import->path);
  g_free (import->name);
  studio_import_free (import->model);
}

static void
import_unref (Import *import)
{
  g_rc_box_release_full (import, import_clear);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Import, import_unref)

static void
import_closed_cb (gpointer data, GClosure *closure)
{
  import_unref (data);
}

static void
import_failed (Import *import, StudioOpener *self, const GError *error)
{
  g_autofree char *heading = g_strdup_printf (_ ("“%s” cannot be opened"), import->name);
  StudioPage *page = self != NULL ? studio_tabs_get_page (self->tabs) : NULL;

  if (page != NULL && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    studio_page_toast_lasting (page, heading, error->message);
}

static void
imported_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Import) import = data;
  g_autoptr (StudioOpener) self = g_weak_ref_get (&import->opener);
  g_autoptr (GError) error = NULL;

  if (!studio_import_save_finish (result, &error))
    import_failed (import, self, error);
  else if (self != NULL && studio_tabs_get_page (self->tabs) != NULL)
    {
      const char *path = studio_import_get_path (import->model), *notes = studio_import_get_notes (import->model);
      g_autoptr (GFile) file = g_file_new_for_path (path);
      g_autofree char *name = g_path_get_basename (path);
      g_autofree char *sentence
          = g_strdup_printf (_ ("The model was imported as %s, with its weights in the same folder."), name);

      studio_opener_open_file (self, file);
      if (*notes != '\0')
        studio_page_toast_lasting (studio_tabs_get_page (self->tabs), sentence, notes);
      else
        studio_tabs_say (self->tabs, sentence);
    }
}

static void
import_response_cb (AdwMessageDialog *dialog, const char *response, Import *import)
{
  g_autoptr (StudioOpener) self = g_weak_ref_get (&import->opener);
  GtkWidget *check = adw_message_dialog_get_extra_child (dialog);

  if (!g_str_equal (response, "import"))
    return;
  if (check == NULL || gtk_check_button_get_active (GTK_CHECK_BUTTON (check)))
    studio_import_save_async (import->model, imported_cb, g_rc_box_acquire (import));
  else if (self != NULL)
    read_model (self, import->path, NULL, TRUE, TRUE);
}

/* A batch that was opened can stay as it is in the model. */
static GtkWidget *
batch_check_new (const StudioImport *model)
{
  g_autofree char *batch = g_strdup_printf ("%" G_GINT64_FORMAT, studio_import_get_batch (model));
  g_autofree char *text = g_strdup_printf (_ ("Take any number of samples at once, not just %s"), batch);
  GtkWidget *check = gtk_check_button_new_with_label (text);

  gtk_check_button_set_active (GTK_CHECK_BUTTON (check), TRUE);
  return check;
}

/* "Import “mlp.onnx”?", with the files that are written and their folder. */
static void
ask_before_import (StudioOpener *self, Import *import)
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
  AdwMessageDialog *dialog = studio_question_new (self->window, heading, body);

  if (studio_import_get_batch (import->model) > 0)
    adw_message_dialog_set_extra_child (dialog, batch_check_new (import->model));
  adw_message_dialog_add_response (dialog, "import", _ ("_Import"));
  adw_message_dialog_set_response_appearance (dialog, "import", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "import");
  g_signal_connect_data (dialog, "response", G_CALLBACK (import_response_cb), g_rc_box_acquire (import),
                         import_closed_cb, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
sizes_response_cb (AdwMessageDialog *dialog, const char *response, Import *import)
{
  g_autoptr (StudioOpener) self = g_weak_ref_get (&import->opener);

  if (self != NULL && g_str_equal (response, "import"))
    {
      g_auto (GStrv) sizes = studio_size_form_get_sizes (adw_message_dialog_get_extra_child (dialog));

      read_model (self, import->path, (const char *const *)sizes, FALSE, FALSE);
    }
}

/* Numbers are computed from sizes that the model leaves open, so they have to be fixed. */
static void
ask_for_sizes (StudioOpener *self, Import *import, const char *const *names, const char *why)
{
  g_autofree char *heading = g_strdup_printf (_ ("Which sizes does “%s” have?"), import->name);
  g_autofree char *body = g_strdup_printf (_ ("The model leaves sizes of its inputs open and computes with them. Fix "
                                              "those that are needed; the others stay open.\n\n%s"),
                                           why);
  AdwMessageDialog *dialog = studio_question_new (self->window, heading, body);

  adw_message_dialog_set_extra_child (dialog, studio_size_form_new (names));
  adw_message_dialog_add_response (dialog, "import", _ ("_Import"));
  adw_message_dialog_set_response_appearance (dialog, "import", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "import");
  g_signal_connect_data (dialog, "response", G_CALLBACK (sizes_response_cb), g_rc_box_acquire (import),
                         import_closed_cb, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
model_read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Import) import = data;
  g_autoptr (StudioOpener) self = g_weak_ref_get (&import->opener);
  g_autoptr (GError) error = NULL;

  studio_toast_dismiss (import->toast);
  import->model = studio_import_read_finish (result, &error);
  if (import->model == NULL)
    import_failed (import, self, error);
  else if (self != NULL && studio_tabs_get_page (self->tabs) != NULL)
    {
      const char *why;
      const char *const *names = studio_import_get_open_sizes (import->model, &why);

      if (names != NULL)
        ask_for_sizes (self, import, names, why);
      else if (import->is_confirmed)
        studio_import_save_async (import->model, imported_cb, g_rc_box_acquire (import));
      else
        ask_before_import (self, import);
    }
}

static void
read_model (StudioOpener *self, const char *path, const char *const *sizes, gboolean keeps_batch, gboolean is_confirmed)
{
  g_autofree char *text = NULL;
  Import *import = g_rc_box_new0 (Import);

  import->is_confirmed = is_confirmed;
  import->path = g_strdup (path);
  import->name = g_path_get_basename (path);
  text = g_markup_printf_escaped (_ ("Reading “%s”…"), import->name);
  g_weak_ref_init (&import->opener, self);
  import->cancellable = g_cancellable_new ();
  import->toast = g_object_ref (adw_toast_new (text));
  adw_toast_set_timeout (import->toast, 0);
  adw_toast_set_button_label (import->toast, _ ("Cancel"));
  g_signal_connect_object (import->toast, "button-clicked", G_CALLBACK (g_cancellable_cancel), import->cancellable,
                           G_CONNECT_SWAPPED);
  studio_page_add_toast (studio_tabs_get_page (self->tabs), import->toast);
  studio_import_read_async (path, sizes, keeps_batch, import->cancellable, model_read_cb, import);
}

static void
take_model (StudioOpener *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    read_model (self, path, NULL, FALSE, FALSE);
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
  StudioTabs *tabs = studio_tabs_find (page);

  if (!GTK_IS_WINDOW (root) || tabs == NULL)
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
  g_signal_connect_object (dialog, "made", G_CALLBACK (made_cb), tabs, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
take_weights (StudioOpener *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  StudioDocument *document = studio_page_get_document (studio_tabs_get_page (self->tabs));

  if (path != NULL)
    studio_weights_inspect_async (path,
                                  studio_document_is_empty (document) ? NULL : studio_document_get_graph (document),
                                  looked_cb, g_object_ref (studio_tabs_get_page (self->tabs)));
}

static void
take_trace (StudioOpener *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    studio_timeline_window_open (self->window, path);
}

static void
say_unopened (StudioOpener *self, GFile *file, const GError *error)
{
  g_autofree char *name = g_file_get_basename (file);
  g_autofree char *heading = g_strdup_printf (_ ("“%s” cannot be opened"), name);

  studio_page_toast_lasting (studio_tabs_get_page (self->tabs), heading, error->message);
}

static void
take_lecture (StudioOpener *self, GFile *file)
{
  g_autoptr (GError) error = NULL;

  if (!studio_lecture_open (self->tabs, file, &error))
    say_unopened (self, file, error);
}

static void
take_recording (StudioOpener *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  g_autoptr (GError) error = NULL;

  if (path != NULL && !studio_page_open_recording (studio_tabs_get_free_page (self->tabs), path, &error))
    say_unopened (self, file, error);
}

/* The function for each kind of file. */
static void (*const takers[]) (StudioOpener *self, GFile *file) = {
  [STUDIO_FILE_GRAPH] = take_graph,         [STUDIO_FILE_TABLE] = take_table, [STUDIO_FILE_MODEL] = take_model,
  [STUDIO_FILE_WEIGHTS] = take_weights,     [STUDIO_FILE_TRACE] = take_trace, [STUDIO_FILE_LECTURE] = take_lecture,
  [STUDIO_FILE_RECORDING] = take_recording,
};

gboolean
studio_opener_take_file (StudioOpener *self, GFile *file)
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
                            "weights (.safetensors, .pth, .npz, .gguf …), traces of a step (.json), lectures "
                            "(.lecture) and recorded sessions (.recording)."),
                         name);
  studio_tabs_say (self->tabs, sentence);
  return FALSE;
}

/* ---- unsaved work --------------------------------------------------------------------------------- */

/* The page for a journal: the one that already shows its file, if it is unedited, because a second page could not save
 * to that file; else a new one. */
static StudioPage *
page_for (StudioOpener *self, const char *journal)
{
  g_autoptr (StudioJournalContent) content = studio_journal_read (journal, NULL);
  g_autoptr (GFile) file = content != NULL && content->path != NULL ? g_file_new_for_path (content->path) : NULL;
  GtkWidget *widget = file != NULL ? open_documents_find_page (file) : NULL;
  StudioPage *has = widget != NULL ? STUDIO_PAGE (widget) : NULL;

  if (has == NULL || studio_tabs_find (has) != self->tabs || studio_document_is_edited (studio_page_get_document (has))
      || studio_run_is_live (studio_page_get_run (has)))
    return studio_tabs_get_free_page (self->tabs);
  studio_tabs_show_page (self->tabs, has);
  return has;
}

static void
recover (StudioOpener *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *journal = g_strdup (studio_recovery_bar_get_journal (self->recovery));

  if (!studio_page_recover (page_for (self, journal), journal, &error))
    {
      studio_recovery_bar_set_damaged (journal);
      studio_tabs_say (self->tabs, error->message);
    }
  studio_recovery_bar_offer_next ();
}

void
studio_opener_recover (StudioOpener *self)
{
  if (studio_recovery_bar_get_journal (self->recovery) != NULL)
    recover (self);
}

void
studio_opener_recover_all (StudioOpener *self)
{
  while (studio_recovery_bar_get_journal (self->recovery) != NULL)
    recover (self);
}

/* ---- object ------------------------------------------------------------------------------------- */

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, StudioOpener *self)
{
  const GSList *files = g_value_get_boxed (value);
  return files != NULL && studio_opener_take_file (self, files->data);
}

static void
opener_dispose (GObject *object)
{
  StudioOpener *self = STUDIO_OPENER (object);
  g_clear_object (&self->chooser);
  g_clear_object (&self->tabs);
  G_OBJECT_CLASS (studio_opener_parent_class)->dispose (object);
}

static void
studio_opener_class_init (StudioOpenerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = opener_dispose;
}

StudioOpener *
studio_opener_new (GtkWindow *window, StudioTabs *tabs, StudioRecoveryBar *recovery)
{
  GtkDropTarget *target = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
  StudioOpener *self = g_object_new (STUDIO_TYPE_OPENER, NULL);
  self->window = window;
  self->tabs = g_object_ref (tabs);
  self->recovery = recovery;
  g_signal_connect_object (target, "drop", G_CALLBACK (drop_cb), self, 0);
  gtk_widget_add_controller (GTK_WIDGET (window), GTK_EVENT_CONTROLLER (target));
  return self;
}
