/* Implements studio-saver.h. */
#include "ui/page/studio-saver.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/page/open-documents.h"
#include "ui/shell/studio-toasts.h"
#include "ui/start/studio-files.h"

struct _StudioSaver
{
  GObject parent_instance;
  StudioDocument *document; /* NULL: closed */
  GtkWidget *toasts;
  StudioQuestions *questions;
  GtkFileChooserNative *chooser;
};

STUDIO_DEFINE_TYPE (StudioSaver, studio_saver, G_TYPE_OBJECT)

static guint commit_signal;

static void
copy_cb (AdwToast *toast, StudioSaver *self)
{
  gdk_clipboard_set_text (gtk_widget_get_clipboard (self->toasts), g_object_get_data (G_OBJECT (toast), "line"));
}

static void
say_saved (StudioSaver *self)
{
  g_autofree char *word = loom_text_shell_word (studio_document_get_path (self->document));
  char *line = g_strdup_printf ("gradloom train %s", word);
  g_autofree char *text = g_markup_printf_escaped (_ ("Saved · %s"), line);
  AdwToast *toast = adw_toast_new (text);
  g_object_set_data_full (G_OBJECT (toast), "line", line, g_free);
  adw_toast_set_button_label (toast, _ ("Copy"));
  adw_toast_set_timeout (toast, 8);
  g_signal_connect_object (toast, "button-clicked", G_CALLBACK (copy_cb), self, 0);
  studio_toasts_add (self->toasts, toast);
}

static void save_asking (StudioSaver *self, const char *path, StudioAfter *after);
static void save_elsewhere (StudioSaver *self, StudioAfter *after);

void
studio_saver_save_before (StudioSaver *self, StudioAfter *after)
{
  if (studio_document_get_path (self->document) == NULL)
    save_elsewhere (self, after);
  else
    save_asking (self, NULL, after);
}

void
studio_saver_save (StudioSaver *self)
{
  g_signal_emit (self, commit_signal, 0);
  studio_saver_save_before (self, NULL);
}

void
studio_saver_save_as (StudioSaver *self)
{
  g_signal_emit (self, commit_signal, 0);
  save_elsewhere (self, NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct
{
  StudioSaver *saver;
  StudioAfter *after;
  GApplication *application; /* on hold: the program must not end with its last window before the file is written */
} Saving;

/* The file is written also if the saver was closed meanwhile: then it has no document, and an error goes to standard
 * error. If the document has another graph by now, only errors are shown, and what waited for the save is dropped. */
static void
saved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Saving *saving = data;
  g_autoptr (StudioSaver) self = saving->saver;
  g_autoptr (GApplication) application = saving->application;
  g_autoptr (GError) error = NULL;
  StudioAfter *after = saving->after;
  const gboolean same = self->document != NULL && studio_document_is_saving_by (self->document, result);
  g_free (saving);
  if (!(self->document != NULL ? studio_document_save_finish (self->document, result, &error)
                               : g_task_propagate_boolean (G_TASK (result), &error)))
    {
      if (self->document != NULL)
        studio_toasts_say (self->toasts, error->message);
      else
        g_printerr ("gradloom-studio: %s\n", error->message);
    }
  else if (same)
    {
      studio_files_remember (studio_document_get_path (self->document));
      if (after == NULL)
        say_saved (self);
      else if (!studio_document_is_edited (self->document))
        studio_after_do (g_steal_pointer (&after));
      else
        studio_toasts_say (self->toasts, _ ("The graph was changed while it was being saved. Save it again first."));
    }
  studio_after_cancel (after);
  if (application != NULL)
    g_application_release (application);
}

/* Takes ownership of after, which may be NULL. */
static void
finish_save (StudioSaver *self, const char *path, StudioAfter *after)
{
  if (studio_document_is_saving (self->document))
    {
      studio_toasts_say (self->toasts, _ ("The graph is still being saved."));
      studio_after_cancel (after);
      return;
    }
  GApplication *application = g_application_get_default ();
  Saving *saving = g_new0 (Saving, 1);
  *saving = (Saving){ g_object_ref (self), after, application != NULL ? g_object_ref (application) : NULL };
  if (application != NULL)
    g_application_hold (application);
  studio_document_save_async (self->document, path, saved_cb, saving);
}

static void
overwrite_response_cb (AdwMessageDialog *dialog, const char *response, StudioSaver *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (g_str_equal (response, "overwrite"))
    finish_save (self, NULL, after);
  else if (g_str_equal (response, "copy"))
    save_elsewhere (self, after);
  else
    studio_after_cancel (after);
}

/* Elements that the reader did not understand are not in the graph, and overwriting their file would lose them, so a
 * question comes first. */
static void
save_over (StudioSaver *self, StudioAfter *after)
{
  guint n = studio_document_dropped_parts (self->document);
  if (n == 0)
    {
      finish_save (self, NULL, after);
      return;
    }
  g_autofree char *name = g_path_get_basename (studio_document_get_path (self->document));
  g_autofree char *heading = g_strdup_printf (_ ("Overwrite “%s”?"), name);
  g_autofree char *body = g_strdup_printf (ngettext ("%u part of this file was not understood and would be lost.",
                                                     "%u parts of this file were not understood and would be lost.", n),
                                           n);
  AdwMessageDialog *dialog = studio_questions_add (self->questions, heading, body);
  adw_message_dialog_add_responses (dialog, "overwrite", _ ("_Overwrite"), "copy", _ ("_Save a Copy…"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "overwrite", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "copy", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "copy");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_after_cancel);
  g_signal_connect_object (dialog, "response", G_CALLBACK (overwrite_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- over what another program wrote -------------------------------------------------------------- */

void
studio_saver_reload (StudioSaver *self)
{
  g_autoptr (GError) error = NULL;
  gboolean edited = studio_document_is_edited (self->document);
  if (!studio_document_reload (self->document, &error))
    studio_toasts_say (self->toasts, error->message);
  else if (edited)
    studio_toasts_say (self->toasts, _ ("Reloaded. Undo (Ctrl+Z) brings your changes back."));
  else
    studio_toasts_say (self->toasts, _ ("Reloaded."));
}

static void
changed_response_cb (AdwMessageDialog *dialog, const char *response, StudioSaver *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (g_str_equal (response, "overwrite"))
    {
      save_over (self, after);
      return;
    }
  if (g_str_equal (response, "copy"))
    {
      save_elsewhere (self, after);
      return;
    }
  if (g_str_equal (response, "reload"))
    studio_saver_reload (self);
  studio_after_cancel (after);
}

static void
ask_to_overwrite (StudioSaver *self, StudioAfter *after)
{
  g_autofree char *name = g_path_get_basename (studio_document_get_path (self->document));
  g_autofree char *heading = g_strdup_printf (_ ("“%s” has changed on disk"), name);
  AdwMessageDialog *dialog
      = studio_questions_add (self->questions, heading,
                              _ ("Another program has changed the file since it was opened. Overwriting discards "
                                 "its changes. Reloading replaces your graph, which you can undo."));
  adw_message_dialog_add_responses (dialog, "overwrite", _ ("_Overwrite"), "reload", _ ("_Reload"), "copy",
                                    _ ("Save _As…"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "overwrite", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "copy", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "copy");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_after_cancel);
  g_signal_connect_object (dialog, "response", G_CALLBACK (changed_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* Saves to path, NULL for where the document came from. */
static void
save_asking (StudioSaver *self, const char *path, StudioAfter *after)
{
  const char *own = studio_document_get_path (self->document);
  g_autoptr (GFile) file = g_file_new_for_path (path != NULL ? path : own);
  StudioDocument *has = open_documents_find (file);
  if (has != NULL && has != self->document)
    {
      /* Each would take the save of the other for a change by another program. */
      g_autofree char *name = g_file_get_basename (file);
      g_autofree char *text = g_strdup_printf (_ ("“%s” is open in another tab. Save under another name."), name);
      studio_toasts_say (self->toasts, text);
      studio_after_cancel (after);
    }
  else if (path != NULL && has == NULL)
    finish_save (self, path, after);
  else if (studio_document_check_disk (self->document) == STUDIO_DISK_CHANGED)
    ask_to_overwrite (self, after);
  else
    save_over (self, after);
}

/* ---- under another name ------------------------------------------------------------------------- */

static void
save_response_cb (GtkNativeDialog *dialog, int response, StudioSaver *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  if (response == GTK_RESPONSE_ACCEPT && self->document != NULL)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
      if (path == NULL)
        studio_toasts_say (self->toasts, _ ("Choose a folder on this computer to save the graph."));
      else
        {
          save_asking (self, path, after);
          return;
        }
    }
  studio_after_cancel (after);
}

static void
save_elsewhere (StudioSaver *self, StudioAfter *after)
{
  const char *path = studio_document_get_path (self->document);
  GtkFileChooserNative *chooser
      = studio_files_new_chooser (GTK_WINDOW (gtk_widget_get_root (self->toasts)), _ ("Save the Graph"),
                                  GTK_FILE_CHOOSER_ACTION_SAVE, _ ("_Save"), FALSE, path);
  g_set_object (&self->chooser, chooser);
  g_object_unref (chooser);
  g_autofree char *title = studio_document_dup_title (self->document);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : g_strconcat (title, ".xml", NULL);
  if (path == NULL)
    {
      for (char *p = name; *p != '\0'; p++)
        if (*p == ' ' || *p == '/')
          *p = '-';
        else
          *p = g_ascii_tolower (*p);
    }
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (chooser), name);
  g_object_set_data_full (G_OBJECT (chooser), "after", after, studio_after_cancel);
  g_signal_connect_object (chooser, "response", G_CALLBACK (save_response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

/* ---- object --------------------------------------------------------------------------------- */

void
studio_saver_close (StudioSaver *self)
{
  g_clear_object (&self->chooser);
  g_clear_object (&self->document);
}

static void
saver_dispose (GObject *object)
{
  studio_saver_close (STUDIO_SAVER (object));
  G_OBJECT_CLASS (studio_saver_parent_class)->dispose (object);
}

static void
studio_saver_class_init (StudioSaverClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = saver_dispose;
  commit_signal = studio_signal_new ("commit", STUDIO_TYPE_SAVER, 0);
}

StudioSaver *
studio_saver_new (StudioDocument *document, GtkWidget *toasts, StudioQuestions *questions)
{
  StudioSaver *self = g_object_new (STUDIO_TYPE_SAVER, NULL);
  self->document = g_object_ref (document);
  self->toasts = toasts;
  self->questions = questions;
  return self;
}
