/* Implements studio-guard.h. */
#include "ui/page/studio-guard.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/scene/studio-format.h"

struct _StudioGuard
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  StudioSaver *saver;
  StudioQuestions *questions;
  StudioRunQueue *queue; /* NULL: not set yet */
};

STUDIO_DEFINE_TYPE (StudioGuard, studio_guard, G_TYPE_OBJECT)

gboolean
studio_guard_would_lose (StudioGuard *self)
{
  return studio_document_is_edited (self->document) || studio_run_is_live (self->run)
         || studio_guard_n_queued (self) > 0;
}

void
studio_guard_set_queue (StudioGuard *self, StudioRunQueue *queue)
{
  g_set_object (&self->queue, queue);
}

guint
studio_guard_n_queued (StudioGuard *self)
{
  return self->queue != NULL ? studio_run_queue_n_unsaved (self->queue) : 0;
}

char *
studio_guard_dup_queue_sentence (guint n)
{
  return g_strdup_printf (ngettext ("%u run in the queue will be lost.", "%u runs in the queue will be lost.", n), n);
}

static void
append_queue (StudioGuard *self, GString *body)
{
  const guint n = studio_guard_n_queued (self);
  g_autofree char *sentence = n > 0 ? studio_guard_dup_queue_sentence (n) : NULL;

  if (n > 0)
    g_string_append_printf (body, "%s%s", body->len > 0 ? "\n\n" : "", sentence);
}

char *
studio_guard_dup_run_sentence (StudioGuard *self)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  StudioRunState state = studio_run_get_state (self->run);
  gint64 step = studio_run_get_step (self->run), total = studio_run_get_progress (self->run)->total_steps;
  if (state == STUDIO_RUN_STARTING || step <= 0)
    return g_strdup_printf (_ ("“%s” is being prepared for training."), title);
  g_autofree char *at = studio_format_count ((double)step);
  g_autofree char *of = studio_format_count ((double)total);
  gboolean paused = state == STUDIO_RUN_PAUSED;
  if (total <= 0)
    return g_strdup_printf (paused ? _ ("“%s” is paused, at step %s.") : _ ("“%s” is training, at step %s."), title,
                            at);
  return g_strdup_printf (paused ? _ ("“%s” is paused, at step %s of %s.") : _ ("“%s” is training, at step %s of %s."),
                          title, at, of);
}

/* stays: the graph stays in its file, by which Studio finds the run again. */
static char *
dup_checkpoint_sentence (StudioGuard *self, gboolean stays)
{
  if (stays && studio_document_get_path (self->document) != NULL && studio_document_run_changes (self->document) == 0)
    return g_strdup (
        _ ("The run will finish its step and write a checkpoint. You can continue it when you open the graph again."));
  const char *folder = studio_run_get_folder (self->run);
  return folder == NULL ? g_strdup (ngettext ("The run will finish its step and write a checkpoint.",
                                              "Each run will finish its step and write a checkpoint.", 1))
                        : g_strdup_printf (_ ("The run will finish its step and write a checkpoint in %s."), folder);
}

/* ---- going on ----------------------------------------------------------------------------------------- */

#define GOES_ON "goes-on"

void
studio_guard_add_goes_on (AdwMessageDialog *dialog, guint n)
{
  GtkWidget *check = gtk_check_button_new_with_mnemonic (
      ngettext ("The run _goes on without the window", "The runs _go on without the window", n));
  GtkWidget *child = adw_message_dialog_get_extra_child (dialog);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);

  if (child != NULL)
    {
      g_object_ref (child);
      adw_message_dialog_set_extra_child (dialog, NULL);
      gtk_box_append (GTK_BOX (box), child);
      g_object_unref (child);
    }
  gtk_widget_set_halign (check, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), check);
  adw_message_dialog_set_extra_child (dialog, box);
  g_object_set_data (G_OBJECT (dialog), GOES_ON, check);
}

gboolean
studio_guard_get_goes_on (AdwMessageDialog *dialog)
{
  GtkWidget *check = g_object_get_data (G_OBJECT (dialog), GOES_ON);
  return check != NULL && gtk_check_button_get_active (GTK_CHECK_BUTTON (check));
}

typedef struct
{
  StudioGuard *guard;
  StudioAfter *after;
  gboolean saves;
} Keeping;

static void
leave (StudioGuard *self, StudioAfter *after, gboolean saves)
{
  if (saves)
    studio_saver_save_before (self->saver, after);
  else
    studio_after_do (after);
}

void
studio_guard_say_not_kept (StudioQuestions *questions, const char *sentence)
{
  gtk_window_present (
      GTK_WINDOW (studio_questions_add (questions, _ ("The run cannot go on without the window"), sentence)));
}

static void
kept_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree Keeping *keeping = data;
  g_autoptr (StudioGuard) self = keeping->guard;
  g_autoptr (GError) error = NULL;

  if (studio_run_keep_finish (result, &error))
    {
      studio_run_set_goes_on (self->run, TRUE);
      leave (self, keeping->after, keeping->saves);
      return;
    }
  studio_after_cancel (keeping->after);
  studio_guard_say_not_kept (self->questions, error->message);
}

/* Takes ownership of after. The worker may refuse to go on, so it is asked while the window can still say so. */
static void
keep_and_leave (StudioGuard *self, StudioAfter *after, gboolean saves)
{
  Keeping *keeping = g_new0 (Keeping, 1);

  *keeping = (Keeping){ g_object_ref (self), after, saves };
  studio_run_keep_async (self->run, kept_cb, keeping);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

static void
unsaved_response_cb (AdwMessageDialog *dialog, const char *response, StudioGuard *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  const gboolean saves = g_str_equal (response, "save");
  studio_run_set_goes_on (self->run, FALSE);
  if (!saves && !g_str_equal (response, "discard"))
    studio_after_cancel (after);
  else if (studio_guard_get_goes_on (dialog))
    keep_and_leave (self, after, saves);
  else
    leave (self, after, saves);
}

/* Takes ownership of after. */
static void
ask_to_save (StudioGuard *self, StudioAfter *after)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  g_autofree char *heading = g_strdup_printf (_ ("Save changes to “%s”?"), title);
  g_autoptr (GString) body = g_string_new (_ ("Unsaved changes will be lost."));
  if (studio_run_is_live (self->run))
    {
      g_autofree char *run = dup_checkpoint_sentence (self, FALSE);
      g_string_append_printf (body, "\n\n%s", run);
    }
  append_queue (self, body);
  AdwMessageDialog *dialog = studio_questions_add (self->questions, heading, body->str);
  if (studio_run_can_go_on (self->run))
    studio_guard_add_goes_on (dialog, 1);
  adw_message_dialog_add_responses (dialog, "discard", _ ("_Discard"), "save", _ ("_Save"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "discard", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "save");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_after_cancel);
  g_signal_connect_object (dialog, "response", G_CALLBACK (unsaved_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
stop_response_cb (AdwMessageDialog *dialog, const char *response, StudioGuard *self)
{
  StudioAfter *after = g_object_steal_data (G_OBJECT (dialog), "after");
  studio_run_set_goes_on (self->run, FALSE);
  if (g_str_equal (response, "go-on"))
    keep_and_leave (self, after, FALSE);
  else if (g_str_equal (response, "stop"))
    studio_after_do (after);
  else
    studio_after_cancel (after);
}

/* Takes ownership of after. */
static void
ask_to_stop (StudioGuard *self, StudioAfter *after)
{
  const gboolean live = studio_run_is_live (self->run);
  g_autoptr (GString) body = g_string_new (NULL);
  if (live)
    {
      g_autofree char *run = studio_guard_dup_run_sentence (self), *checkpoint = dup_checkpoint_sentence (self, TRUE);
      g_string_append_printf (body, "%s %s", run, checkpoint);
    }
  append_queue (self, body);
  AdwMessageDialog *dialog = studio_questions_add (
      self->questions, live ? _ ("Stop the run and close?") : _ ("Close and lose the queue?"), body->str);
  if (studio_run_can_go_on (self->run))
    adw_message_dialog_add_response (dialog, "go-on", _ ("_Go On Without the Window"));
  adw_message_dialog_add_response (dialog, "stop", live ? _ ("_Stop and Close") : _ ("_Close"));
  adw_message_dialog_set_default_response (dialog, "stop");
  g_object_set_data_full (G_OBJECT (dialog), "after", after, studio_after_cancel);
  g_signal_connect_object (dialog, "response", G_CALLBACK (stop_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

void
studio_guard_ask_to_leave (StudioGuard *self, StudioAfter *after)
{
  if (studio_questions_is_asking (self->questions))
    studio_after_cancel (after);
  else if (studio_document_is_edited (self->document))
    ask_to_save (self, after);
  else if (studio_guard_would_lose (self))
    ask_to_stop (self, after);
  else
    studio_after_do (after);
}

/* ---- object --------------------------------------------------------------------------------- */

static void
guard_dispose (GObject *object)
{
  StudioGuard *self = STUDIO_GUARD (object);
  g_clear_object (&self->queue);
  g_clear_object (&self->saver);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_guard_parent_class)->dispose (object);
}

static void
studio_guard_class_init (StudioGuardClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = guard_dispose;
}

StudioGuard *
studio_guard_new (StudioDocument *document, StudioRun *run, StudioSaver *saver, StudioQuestions *questions)
{
  StudioGuard *self = g_object_new (STUDIO_TYPE_GUARD, NULL);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->saver = g_object_ref (saver);
  self->questions = questions;
  return self;
}
