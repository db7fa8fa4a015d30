#include "ui/stepper/studio-step-bar.h"

#include "ui/charts/studio-template.h"

typedef struct
{
  StudioStepper *stepper;
  GtkWidget *bar, *label;
} Bar;

static void
changed_cb (StudioStepper *stepper, Bar *self)
{
  g_autofree char *text = studio_stepper_dup_text (stepper);

  /* The bar keeps the focus of its buttons while the weights change. */
  gtk_widget_set_visible (self->bar, studio_stepper_is_on (stepper) || studio_stepper_is_between (stepper));
  if (studio_stepper_is_between (stepper))
    return;
  gtk_label_set_label (GTK_LABEL (self->label), text);
  gtk_widget_set_tooltip_text (self->label, text);
}

static void
bar_free (gpointer data, GClosure *closure)
{
  g_free (data);
}

GtkWidget *
studio_step_bar_new (StudioStepper *stepper)
{
  Bar *self = g_new0 (Bar, 1);

  self->bar = studio_template_new ("studio-step-bar.ui");
  STUDIO_TEMPLATE_FIELDS (self->bar, self, label);
  g_signal_connect_data (stepper, "changed", G_CALLBACK (changed_cb), self, bar_free, 0);
  changed_cb (stepper, self);
  return self->bar;
}
