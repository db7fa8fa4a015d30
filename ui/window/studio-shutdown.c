/* The process stays until its workers have exited, because a hanging worker would outlive it and nothing would end it
 * after its timeout (ui/worker/studio-worker.c). */
#include "ui/window/studio-shutdown.h"

#include <glib/gi18n.h>

#include "ui/worker/studio-worker.h"
#include "ui/shell/studio-question.h"

#define QUESTION_SECONDS 5   /* a step and its checkpoint rarely take longer */
#define MAX_SECONDS      140 /* by then workers have been killed, or cannot be */
#define KILL_SECONDS     15  /* a killed worker exits within this time */

static struct
{
  GtkApplication *application; /* on hold; NULL: not waiting */
  AdwMessageDialog *question;
  guint timer; /* until the question, then until giving up */
} leaving;

static void
leave (void)
{
  g_autoptr (GtkApplication) application = g_steal_pointer (&leaving.application);
  g_clear_handle_id (&leaving.timer, g_source_remove);
  if (leaving.question != NULL)
    gtk_window_destroy (GTK_WINDOW (leaving.question));
  g_application_release (G_APPLICATION (application));
}

static void
left_cb (void)
{
  if (leaving.application != NULL && studio_worker_n_exiting () == 0)
    leave ();
}

/* A worker blocked in a driver does not end even when killed, and nothing more can be done. */
static gboolean
give_up_cb (gpointer data)
{
  leaving.timer = 0;
  leave ();
  return G_SOURCE_REMOVE;
}

static void
response_cb (AdwMessageDialog *dialog, const char *response)
{
  if (!g_str_equal (response, "force") || leaving.application == NULL)
    return;
  g_clear_handle_id (&leaving.timer, g_source_remove);
  leaving.timer = g_timeout_add_seconds (KILL_SECONDS, give_up_cb, NULL);
  studio_worker_force_exiting ();
}

static gboolean
ask_cb (gpointer data)
{
  const guint n = studio_worker_n_exiting ();
  leaving.timer = g_timeout_add_seconds (MAX_SECONDS, give_up_cb, NULL);
  AdwMessageDialog *dialog
      = studio_question_new (NULL, ngettext ("The run has not ended yet", "The runs have not ended yet", n),
                             ngettext ("It finishes its step and writes a checkpoint. If it hangs, force it to quit; "
                                       "training since its newest checkpoint is lost.",
                                       "They finish their steps and write checkpoints. If they hang, force them to "
                                       "quit; training since their newest checkpoints is lost.",
                                       n));
  g_set_weak_pointer (&leaving.question, dialog);
  adw_message_dialog_set_response_label (dialog, "cancel", _ ("_Wait"));
  adw_message_dialog_add_response (dialog, "force", _ ("_Force Quit"));
  adw_message_dialog_set_response_appearance (dialog, "force", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_default_response (dialog, "cancel");
  g_signal_connect (dialog, "response", G_CALLBACK (response_cb), NULL);
  gtk_window_set_application (GTK_WINDOW (dialog), leaving.application);
  gtk_window_present (GTK_WINDOW (dialog));
  return G_SOURCE_REMOVE;
}

void
studio_shutdown_begin (GtkApplication *application)
{
  if (leaving.application != NULL || gtk_application_get_windows (application) != NULL
      || studio_worker_n_exiting () == 0)
    return;
  leaving.application = g_object_ref (application);
  g_application_hold (G_APPLICATION (application));
  studio_worker_set_exited_func (left_cb);
  leaving.timer = g_timeout_add_seconds (QUESTION_SECONDS, ask_cb, NULL);
}
