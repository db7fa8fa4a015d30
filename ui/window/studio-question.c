#include "ui/window/studio-question.h"

#include <glib/gi18n.h>

#include "ui/window/studio-dump.h"

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
studio_question_new (GtkWindow *parent, const char *heading, const char *body)
{
  GtkWidget *dialog = adw_message_dialog_new (parent, heading, body);
  /* Where its buttons are is asked by the same key as in the window, which has no keyboard now. */
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (question_key_cb), dialog);
  gtk_widget_add_controller (dialog, keys);
  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "cancel", _ ("_Cancel"));
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  return ADW_MESSAGE_DIALOG (dialog);
}
