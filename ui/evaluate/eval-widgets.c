/* Widgets that several pages of the evaluation have; see the header. */
#include "ui/evaluate/eval-widgets.h"

#include "ui/charts/studio-choice-name.h"

GtkWidget *
eval_label_new (const char *style)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 36); /* a sentence does not widen the page */
  gtk_widget_add_css_class (label, style);
  return label;
}

GtkWidget *
eval_choice_new (const char *const *titles, const char *name)
{
  GtkWidget *choice = gtk_drop_down_new_from_strings (titles);

  studio_choice_set_name (GTK_DROP_DOWN (choice), name);
  gtk_widget_set_tooltip_text (choice, name);
  gtk_widget_set_hexpand (choice, TRUE);
  return choice;
}
