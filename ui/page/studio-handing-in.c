/* Implements studio-handing-in.h. */
#include "ui/page/studio-handing-in.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/runs/loom-hand-in.h"
#include "ui/charts/studio-type.h"
#include "ui/shell/studio-toasts.h"

struct _StudioHandingIn
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  StudioLesson *lesson;
  GtkWidget *toasts;
  StudioQuestions *questions;
  GtkWidget *entry; /* of the dialog, which is one at a time */
  GtkFileChooserNative *chooser;
};

STUDIO_DEFINE_TYPE (StudioHandingIn, studio_handing_in, G_TYPE_OBJECT)

static gboolean
has_run (StudioHandingIn *self)
{
  return studio_run_get_folder (self->run) != NULL && studio_run_get_step (self->run) > 0;
}

gboolean
studio_handing_in_write (StudioHandingIn *self, const char *path, GError **error)
{
  const LoomLesson *lesson = studio_lesson_get (self->lesson);
  const LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *name = studio_lesson_dup_learner (self->lesson);
  g_autoptr (LoomHandIn) hand_in = has_run (self) ? loom_hand_in_new (studio_run_get_folder (self->run), name, error)
                                                  : loom_hand_in_new_untrained (graph, name);

  if (hand_in == NULL)
    return FALSE;
  loom_hand_in_take_view (hand_in, graph);
  for (guint i = 0; lesson != NULL && i < lesson->pages->len; i++)
    {
      const LoomLessonPage *page = lesson->pages->pdata[i];
      const char *answer = studio_lesson_get_answer (self->lesson, i);

      if (answer != NULL)
        loom_hand_in_add_answer (hand_in, i + 1, page->title, answer);
    }
  return loom_hand_in_write (hand_in, path, error);
}

/* ---- the file ------------------------------------------------------------- */

static void
file_response_cb (GtkNativeDialog *dialog, int response, StudioHandingIn *self)
{
  g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autofree char *leaf = path != NULL ? g_path_get_basename (path) : NULL, *sentence = NULL;
  g_autoptr (GError) error = NULL;

  gtk_native_dialog_hide (dialog);
  if (response != GTK_RESPONSE_ACCEPT || path == NULL)
    return;
  if (studio_handing_in_write (self, path, &error))
    sentence = g_strdup_printf (_ ("Saved as %s. Send this file to your lecturer."), leaf);
  studio_toasts_say (self->toasts, sentence != NULL ? sentence : error->message);
}

static void
choose_file (StudioHandingIn *self)
{
  g_autofree char *name = studio_lesson_dup_learner (self->lesson);
  g_autofree char *leaf = g_strconcat (g_strdelimit (name, "/\\", '-'), LOOM_HAND_IN_SUFFIX, NULL);

  g_clear_object (&self->chooser);
  self->chooser = gtk_file_chooser_native_new (_ ("Hand In"), GTK_WINDOW (gtk_widget_get_root (self->toasts)),
                                               GTK_FILE_CHOOSER_ACTION_SAVE, _ ("_Save"), NULL);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (self->chooser), TRUE);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (self->chooser), leaf);
  g_signal_connect_object (self->chooser, "response", G_CALLBACK (file_response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
}

/* ---- the name ------------------------------------------------------------- */

static void
name_cb (GtkEditable *entry, AdwMessageDialog *dialog)
{
  const char *text = gtk_editable_get_text (entry);

  adw_message_dialog_set_response_enabled (dialog, "save", text[strspn (text, " \t")] != '\0');
}

static void
response_cb (AdwMessageDialog *dialog, const char *response, StudioHandingIn *self)
{
  if (!g_str_equal (response, "save") || self->entry == NULL)
    return;
  studio_lesson_set_learner (self->lesson, gtk_editable_get_text (GTK_EDITABLE (self->entry)));
  choose_file (self);
}

static char *
describe (StudioHandingIn *self)
{
  const guint n = studio_lesson_n_answers (self->lesson);
  g_autofree char *step = g_strdup_printf ("%" G_GINT64_FORMAT, studio_run_get_step (self->run));
  g_autofree char *answers = g_strdup_printf (ngettext ("%u answer", "%u answers", n), n);

  if (has_run (self) && studio_run_is_live (self->run))
    return g_strdup_printf (_ ("One file with the graph, its run up to the newest checkpoint, and %s."), answers);
  return has_run (self)
             ? g_strdup_printf (_ ("One file with the graph, its run of %1$s steps, and %2$s."), step, answers)
             : g_strdup_printf (_ ("One file with the graph and %s. The graph has not been trained."), answers);
}

void
studio_handing_in_ask (StudioHandingIn *self)
{
  g_autofree char *body = describe (self), *name = studio_lesson_dup_learner (self->lesson);
  AdwMessageDialog *dialog = studio_questions_add (self->questions, _ ("Hand In"), body);
  GtkWidget *entry = gtk_entry_new ();

  adw_message_dialog_add_responses (dialog, "save", _ ("_Save…"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "save");
  gtk_entry_set_placeholder_text (GTK_ENTRY (entry), _ ("Your name"));
  gtk_entry_set_activates_default (GTK_ENTRY (entry), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Your name"), -1);
  adw_message_dialog_set_extra_child (dialog, entry);
  g_signal_connect (entry, "changed", G_CALLBACK (name_cb), dialog);
  gtk_editable_set_text (GTK_EDITABLE (entry), name);
  name_cb (GTK_EDITABLE (entry), dialog);
  g_set_weak_pointer (&self->entry, entry);
  g_signal_connect_object (dialog, "response", G_CALLBACK (response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
  gtk_widget_grab_focus (entry);
}

/* ---- object --------------------------------------------------------------- */

static void
studio_handing_in_dispose (GObject *object)
{
  StudioHandingIn *self = STUDIO_HANDING_IN (object);

  g_clear_weak_pointer (&self->entry);
  g_clear_object (&self->chooser);
  g_clear_object (&self->document);
  g_clear_object (&self->run);
  g_clear_object (&self->lesson);
  G_OBJECT_CLASS (studio_handing_in_parent_class)->dispose (object);
}

static void
studio_handing_in_class_init (StudioHandingInClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_handing_in_dispose;
}

StudioHandingIn *
studio_handing_in_new (StudioDocument *document, StudioRun *run, StudioLesson *lesson, GtkWidget *toasts,
                       StudioQuestions *questions)
{
  StudioHandingIn *self = g_object_new (STUDIO_TYPE_HANDING_IN, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->lesson = g_object_ref (lesson);
  self->toasts = toasts;
  self->questions = questions;
  return self;
}
