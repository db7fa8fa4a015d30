/* Questions before something would be lost: changes that are in no file, and a run that would end.
 *
 * A window asks one question at a time. Whoever asks again while it stands (the close button, Ctrl+Q) gets it shown. */
#include "ui/window/studio-window-private.h"

void
studio_after_free (StudioAfter *after)
{
  if (after->destroy != NULL)
    after->destroy (after->data);
  g_object_unref (after->window);
  g_free (after);
}

/* ---- dialogs ------------------------------------------------------------------------------- */

static gboolean
question_key_cb (GtkEventControllerKey *controller, guint keyval, guint keycode, GdkModifierType state,
                 GtkWidget *dialog)
{
  const GdkModifierType all = GDK_CONTROL_MASK | GDK_ALT_MASK | GDK_SHIFT_MASK;
  if (gdk_keyval_to_lower (keyval) != GDK_KEY_d || (state & all) != all)
    return GDK_EVENT_PROPAGATE;
  studio_dump_widgets (GTK_NATIVE (dialog));
  g_printerr ("geometry end\n");
  return GDK_EVENT_STOP;
}

AdwMessageDialog *
studio_window_new_question (StudioWindow *self, const char *heading, const char *body)
{
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), heading, body);
  /* Where its buttons are is asked by the same key as in the window, which has no keyboard now. */
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (question_key_cb), dialog);
  gtk_widget_add_controller (dialog, keys);
  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "cancel", "_Cancel");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_set_weak_pointer (&self->question, GTK_WINDOW (dialog));
  return ADW_MESSAGE_DIALOG (dialog);
}

gboolean
studio_window_is_asking (StudioWindow *self)
{
  gboolean asking = self->question != NULL && gtk_widget_get_visible (GTK_WIDGET (self->question));
  if (asking)
    gtk_window_present (self->question);
  return asking;
}

/* ---- what would be lost ------------------------------------------------------------------------ */

gboolean
studio_window_would_lose (StudioWindow *self)
{
  return studio_document_is_edited (self->document) || studio_run_is_live (self->run);
}

/* "“LeNet” is training, at step 75 of 3,200." */
static char *
dup_run_sentence (StudioWindow *self)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  StudioRunState state = studio_run_get_state (self->run);
  gint64 step = studio_run_get_step (self->run), total = studio_run_get_total_steps (self->run);
  if (state == STUDIO_RUN_STARTING || step <= 0)
    return g_strdup_printf ("“%s” is being prepared for training.", title);
  g_autofree char *at = studio_format_count ((double)step);
  g_autofree char *of = studio_format_count ((double)total);
  const char *word = state == STUDIO_RUN_PAUSED ? "paused" : "training";
  return total > 0 ? g_strdup_printf ("“%s” is %s, at step %s of %s.", title, word, at, of)
                   : g_strdup_printf ("“%s” is %s, at step %s.", title, word, at);
}

/* Where the run can be gone on with: Studio finds it again by the graph in its file. */
static char *
dup_checkpoint_sentence (StudioWindow *self, gboolean stays)
{
  if (stays && studio_document_get_path (self->document) != NULL && studio_document_run_changes (self->document) == 0)
    return g_strdup (
        "The run will finish its step and write a checkpoint. Opening the graph again offers to continue.");
  const char *folder = studio_run_get_folder (self->run);
  return folder == NULL ? g_strdup ("The run will finish its step and write a checkpoint.")
                        : g_strdup_printf ("The run will finish its step and write a checkpoint in %s.", folder);
}

/* ---- changes that are in no file ------------------------------------------------------------------ */

static void
unsaved_response_cb (AdwMessageDialog *dialog, const char *response, StudioAfter *after)
{
  if (g_str_equal (response, "save"))
    {
      studio_window_save_then (after->window, after);
      return;
    }
  if (g_str_equal (response, "discard"))
    after->then (after->window, after->data);
  studio_after_free (after);
}

/* Takes after. */
static void
ask_to_save (StudioWindow *self, StudioAfter *after, gboolean closing)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  g_autofree char *heading = g_strdup_printf ("Save changes to “%s”?", title);
  g_autoptr (GString) body = g_string_new ("What is not saved will be lost.");
  if (closing && studio_run_is_live (self->run))
    {
      g_autofree char *run = dup_checkpoint_sentence (self, FALSE);
      g_string_append_printf (body, "\n\n%s", run);
    }
  AdwMessageDialog *dialog = studio_window_new_question (self, heading, body->str);
  adw_message_dialog_add_responses (dialog, "discard", "_Discard", "save", "_Save", NULL);
  adw_message_dialog_set_response_appearance (dialog, "discard", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "save");
  g_signal_connect (dialog, "response", G_CALLBACK (unsaved_response_cb), after);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- a run that goes on ------------------------------------------------------------------------------ */

static void
stop_response_cb (AdwMessageDialog *dialog, const char *response, StudioAfter *after)
{
  if (g_str_equal (response, "stop"))
    after->then (after->window, after->data);
  studio_after_free (after);
}

/* Takes after. */
static void
ask_to_stop (StudioWindow *self, StudioAfter *after)
{
  g_autofree char *run = dup_run_sentence (self), *checkpoint = dup_checkpoint_sentence (self, TRUE);
  g_autofree char *body = g_strdup_printf ("%s %s", run, checkpoint);
  AdwMessageDialog *dialog = studio_window_new_question (self, "Stop the run and close?", body);
  adw_message_dialog_add_response (dialog, "stop", "_Stop and Close");
  adw_message_dialog_set_default_response (dialog, "stop");
  g_signal_connect (dialog, "response", G_CALLBACK (stop_response_cb), after);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
beside_response_cb (AdwMessageDialog *dialog, const char *response, StudioAfter *after)
{
  StudioWindow *self = after->window;
  if (g_str_equal (response, "beside"))
    {
      StudioWindow *other = studio_window_new (ADW_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))));
      gtk_window_present (GTK_WINDOW (other));
      after->then (other, after->data);
    }
  else if (g_str_equal (response, "stop"))
    {
      if (studio_document_is_edited (self->document))
        {
          ask_to_save (self, after, FALSE);
          return;
        }
      after->then (self, after->data);
    }
  studio_after_free (after);
}

/* Takes after. */
static void
ask_for_room (StudioWindow *self, StudioAfter *after)
{
  g_autofree char *run = dup_run_sentence (self), *checkpoint = dup_checkpoint_sentence (self, TRUE);
  g_autofree char *body = g_strdup_printf ("%s Another graph in this window ends it. %s", run, checkpoint);
  AdwMessageDialog *dialog = studio_window_new_question (self, "Keep the run going?", body);
  adw_message_dialog_add_responses (dialog, "stop", "_Stop the Run", "beside", "Open in a _New Window", NULL);
  adw_message_dialog_set_response_appearance (dialog, "beside", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "beside");
  g_signal_connect (dialog, "response", G_CALLBACK (beside_response_cb), after);
  gtk_window_present (GTK_WINDOW (dialog));
}

void
studio_window_guard (StudioWindow *self, gboolean closing, StudioWindowThen then, gpointer data, GDestroyNotify destroy)
{
  StudioAfter *after = g_new0 (StudioAfter, 1);
  after->window = g_object_ref (self);
  after->then = then;
  after->data = data;
  after->destroy = destroy;
  if (studio_window_is_asking (self))
    studio_after_free (after);
  else if (!closing && studio_run_is_live (self->run))
    ask_for_room (self, after);
  else if (studio_document_is_edited (self->document))
    ask_to_save (self, after, closing);
  else if (studio_run_is_live (self->run))
    ask_to_stop (self, after);
  else
    {
      then (self, data);
      studio_after_free (after);
    }
}
