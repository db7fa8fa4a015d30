/* Builds the dialog of studio-question.h. */
#include "ui/shell/studio-question.h"

#include <glib/gi18n.h>

AdwMessageDialog *
studio_question_new (GtkWindow *parent, const char *heading, const char *body)
{
  GtkWidget *dialog = adw_message_dialog_new (parent, heading, body);
  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "cancel", _ ("_Cancel"));
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  return ADW_MESSAGE_DIALOG (dialog);
}
