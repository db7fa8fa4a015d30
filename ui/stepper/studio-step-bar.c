#include "ui/stepper/studio-step-bar.h"

#include <glib/gi18n.h>

typedef struct
{
  StudioStepper *stepper;
  GtkWidget *bar, *label;
} Bar;

static const struct
{
  const char *title, *action, *tooltip;
} buttons[] = {
  { N_ ("Forward"), "win.step-forward", N_ ("Compute the rest of the forward pass") },
  { N_ ("Backward"), "win.step-backward", N_ ("Compute all gradients") },
  { N_ ("Update"), "win.step-update", N_ ("Take the step: change the weights, and go to the next one") },
};

static const struct
{
  const char *icon, *action, *tooltip;
} moves[] = {
  { "go-previous-symbolic", "win.step-back", N_ ("Back by one layer (Ctrl+Alt+Left)") },
  { "go-next-symbolic", "win.step-next", N_ ("To the next layer (Ctrl+Alt+Right)") },
  { "go-down-symbolic", "win.step-into", N_ ("Into the module or iteration (Ctrl+Alt+Down)") },
  { "go-up-symbolic", "win.step-out", N_ ("Out of the module or loop (Ctrl+Alt+Up)") },
};

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

static void
add_button (GtkWidget *bar, GtkWidget *button, const char *action, const char *tooltip)
{
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_widget_set_tooltip_text (button, _ (tooltip));
  gtk_box_append (GTK_BOX (bar), button);
}

GtkWidget *
studio_step_bar_new (StudioStepper *stepper)
{
  Bar *self = g_new0 (Bar, 1);
  GtkWidget *close = gtk_button_new_from_icon_name ("window-close-symbolic");

  self->bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->label = g_object_new (GTK_TYPE_LABEL, "accessible-role", GTK_ACCESSIBLE_ROLE_STATUS, NULL);
  gtk_widget_add_css_class (self->bar, "toolbar");
  for (guint i = 0; i < G_N_ELEMENTS (buttons); i++)
    add_button (self->bar, gtk_button_new_with_label (_ (buttons[i].title)), buttons[i].action, buttons[i].tooltip);
  for (guint i = 0; i < G_N_ELEMENTS (moves); i++)
    {
      GtkWidget *button = gtk_button_new_from_icon_name (moves[i].icon);

      add_button (self->bar, button, moves[i].action, moves[i].tooltip);
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, _ (moves[i].tooltip), -1);
    }
  gtk_widget_set_hexpand (self->label, TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->label), PANGO_ELLIPSIZE_END);
  gtk_widget_add_css_class (self->label, "numeric");
  gtk_box_append (GTK_BOX (self->bar), self->label);
  add_button (self->bar, close, "win.step-end", N_ ("Close the step (training stays as it is)"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (close), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Close the step"), -1);
  g_signal_connect_data (stepper, "changed", G_CALLBACK (changed_cb), self, bar_free, 0);
  changed_cb (stepper, self);
  return self->bar;
}
