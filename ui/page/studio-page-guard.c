/* Questions before something of a page would be lost: changes that are in no file, and a run that would end.
 *
 * A page asks one question at a time. Whoever asks again while it stands (the close button, Ctrl+Q) gets it shown. */
#include "ui/page/studio-page-private.h"

#include <glib/gi18n.h>

#include "ui/shell/studio-question.h"

StudioAfter *
studio_after_new (StudioPage *page, StudioPageThen then, StudioPageThen otherwise, gpointer data)
{
  StudioAfter *after = g_new0 (StudioAfter, 1);
  *after = (StudioAfter){ .page = g_object_ref (page), .then = then, .otherwise = otherwise, .data = data };
  return after;
}

static void
finish (StudioAfter *after, StudioPageThen how)
{
  if (how != NULL)
    how (after->page, after->data);
  g_object_unref (after->page);
  g_free (after);
}

void
studio_after_do (StudioAfter *after)
{
  finish (after, after->then);
}

void
studio_after_cancel (gpointer after)
{
  if (after != NULL)
    finish (after, ((StudioAfter *)after)->otherwise);
}

/* ---- dialogs ------------------------------------------------------------------------------- */

AdwMessageDialog *
studio_page_new_question (StudioPage *self, const char *heading, const char *body)
{
  AdwMessageDialog *dialog = studio_question_new (studio_page_get_window (self), heading, body);
  g_set_weak_pointer (&self->question, GTK_WINDOW (dialog));
  return dialog;
}

gboolean
studio_page_is_asking (StudioPage *self)
{
  gboolean asking = self->question != NULL && gtk_widget_get_visible (GTK_WIDGET (self->question));
  if (asking)
    gtk_window_present (self->question);
  return asking;
}

/* ---- what would be lost ------------------------------------------------------------------------ */

gboolean
studio_page_would_lose (StudioPage *self)
{
  return studio_document_is_edited (self->document) || studio_run_is_live (self->run);
}

char *
studio_page_dup_run_sentence (StudioPage *self)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  StudioRunState state = studio_run_get_state (self->run);
  gint64 step = studio_run_get_step (self->run), total = studio_run_get_total_steps (self->run);
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

/* Studio finds the run again by the graph in its file. */
static char *
dup_checkpoint_sentence (StudioPage *self, gboolean stays)
{
  if (stays && studio_document_get_path (self->document) != NULL && studio_document_run_changes (self->document) == 0)
    return g_strdup (
        _ ("The run will finish its step and write a checkpoint. You can continue it when you open the graph again."));
  const char *folder = studio_run_get_folder (self->run);
  return folder == NULL ? g_strdup (ngettext ("The run will finish its step and write a checkpoint.",
                                              "Each run will finish its step and write a checkpoint.", 1))
                        : g_strdup_printf (_ ("The run will finish its step and write a checkpoint in %s."), folder);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

static void
unsaved_response_cb (AdwMessageDialog *dialog, const char *response, StudioAfter *after)
{
  if (g_str_equal (response, "save"))
    studio_page_save_before (after->page, after);
  else if (g_str_equal (response, "discard"))
    studio_after_do (after);
  else
    studio_after_cancel (after);
}

/* Takes after. */
static void
ask_to_save (StudioPage *self, StudioAfter *after)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  g_autofree char *heading = g_strdup_printf (_ ("Save changes to “%s”?"), title);
  g_autoptr (GString) body = g_string_new (_ ("Unsaved changes will be lost."));
  if (studio_run_is_live (self->run))
    {
      g_autofree char *run = dup_checkpoint_sentence (self, FALSE);
      g_string_append_printf (body, "\n\n%s", run);
    }
  AdwMessageDialog *dialog = studio_page_new_question (self, heading, body->str);
  adw_message_dialog_add_responses (dialog, "discard", _ ("_Discard"), "save", _ ("_Save"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "discard", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "save");
  g_signal_connect (dialog, "response", G_CALLBACK (unsaved_response_cb), after);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
stop_response_cb (AdwMessageDialog *dialog, const char *response, StudioAfter *after)
{
  if (g_str_equal (response, "stop"))
    studio_after_do (after);
  else
    studio_after_cancel (after);
}

/* Takes after. */
static void
ask_to_stop (StudioPage *self, StudioAfter *after)
{
  g_autofree char *run = studio_page_dup_run_sentence (self);
  g_autofree char *checkpoint = dup_checkpoint_sentence (self, TRUE);
  g_autofree char *body = g_strdup_printf ("%s %s", run, checkpoint);
  AdwMessageDialog *dialog = studio_page_new_question (self, _ ("Stop the run and close?"), body);
  adw_message_dialog_add_response (dialog, "stop", _ ("_Stop and Close"));
  adw_message_dialog_set_default_response (dialog, "stop");
  g_signal_connect (dialog, "response", G_CALLBACK (stop_response_cb), after);
  gtk_window_present (GTK_WINDOW (dialog));
}

void
studio_page_ask_to_leave (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data)
{
  StudioAfter *after = studio_after_new (self, then, otherwise, data);
  if (studio_page_is_asking (self))
    studio_after_cancel (after);
  else if (studio_document_is_edited (self->document))
    ask_to_save (self, after);
  else if (studio_run_is_live (self->run))
    ask_to_stop (self, after);
  else
    studio_after_do (after);
}

void
studio_page_let_go (StudioPage *self)
{
  studio_run_close (self->run);
  studio_document_close (self->document);
  /* The dialog whose answer this is outlives the window, and would disconnect itself from what is gone. */
  if (self->question != NULL)
    gtk_window_set_transient_for (self->question, NULL);
}

/* ---- what is being typed ------------------------------------------------------------------------------ */

void
studio_page_commit (StudioPage *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  studio_canvas_end_editing (self->canvas);
  /* A field takes over what stands in it when the keyboard leaves it. */
  if (focus != NULL && gtk_widget_is_ancestor (focus, GTK_WIDGET (self))
      && (GTK_IS_EDITABLE (focus) || GTK_IS_TEXT_VIEW (focus)))
    studio_page_focus (self);
}
