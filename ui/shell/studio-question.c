/* Builds the dialogs of studio-question.h. */
#include "ui/shell/studio-question.h"

#include <glib/gi18n.h>

struct _StudioQuestions
{
  GtkWidget *widget;
  GtkWindow *dialog; /* weak */
};

/* libadwaita (1.7 still does) has two headings, of which the large one is shown if it fits into a line, and measures each for
 * the least size of the other: GTK 4.18 warns about a widget that needs more than it is measured for. So both are small. */
static void
fit_headings (AdwMessageDialog *dialog)
{
  GObject *large = gtk_widget_get_template_child (GTK_WIDGET (dialog), ADW_TYPE_MESSAGE_DIALOG, "heading_label");
  GObject *small = gtk_widget_get_template_child (GTK_WIDGET (dialog), ADW_TYPE_MESSAGE_DIALOG, "heading_label_small");
  if (!GTK_IS_LABEL (large) || !GTK_IS_LABEL (small))
    return;
  g_auto (GStrv) classes = gtk_widget_get_css_classes (GTK_WIDGET (small));
  g_object_set (large, "wrap", TRUE, "wrap-mode", gtk_label_get_wrap_mode (GTK_LABEL (small)), "css-classes", classes, NULL);
}

AdwMessageDialog *
studio_question_new (GtkWindow *parent, const char *heading, const char *body)
{
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (adw_message_dialog_new (parent, heading, body));
  fit_headings (dialog);
  adw_message_dialog_add_response (dialog, "cancel", _ ("_Cancel"));
  adw_message_dialog_set_close_response (dialog, "cancel");
  return dialog;
}

StudioQuestions *
studio_questions_new (GtkWidget *widget)
{
  StudioQuestions *self = g_new0 (StudioQuestions, 1);
  self->widget = widget;
  return self;
}

void
studio_questions_free (StudioQuestions *self)
{
  g_clear_weak_pointer (&self->dialog);
  g_free (self);
}

AdwMessageDialog *
studio_questions_add (StudioQuestions *self, const char *heading, const char *body)
{
  GtkRoot *root = gtk_widget_get_root (self->widget);
  AdwMessageDialog *dialog = studio_question_new (GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL, heading, body);
  g_set_weak_pointer (&self->dialog, GTK_WINDOW (dialog));
  return dialog;
}

gboolean
studio_questions_is_asking (StudioQuestions *self)
{
  const gboolean asking = self->dialog != NULL && gtk_widget_get_visible (GTK_WIDGET (self->dialog));
  if (asking)
    gtk_window_present (self->dialog);
  return asking;
}

GtkWindow *
studio_questions_get (StudioQuestions *self)
{
  return self->dialog;
}

void
studio_questions_detach (StudioQuestions *self)
{
  if (self->dialog != NULL)
    gtk_window_set_transient_for (self->dialog, NULL);
}
