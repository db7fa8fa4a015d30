/* The window of preferences. A change is written at once, and applies to runs that begin later. */
#include "ui/window/studio-preferences.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/settings/studio-settings.h"

static void
history_changed_cb (GtkSpinButton *button)
{
  studio_settings_set_history (gtk_spin_button_get_value_as_int (button));
}

/* Escape closes it, as it does a dialog. */
static GtkEventController *
escape_new (void)
{
  GtkEventController *keys = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (keys),
      gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0), gtk_named_action_new ("window.close")));
  return keys;
}

void
studio_preferences_present (GtkWindow *parent)
{
  GtkWidget *self = g_object_new (ADW_TYPE_WINDOW, "transient-for", parent, "modal", TRUE, "destroy-with-parent", TRUE,
                                  "title", _ ("Preferences"), "default-width", 560, "default-height", 420, NULL);
  GtkWidget *content = studio_template_new ("studio-preferences.ui");
  GtkSpinButton *history = g_object_get_data (G_OBJECT (content), "history");

  gtk_spin_button_set_value (history, (double)studio_settings_get_history ());
  g_signal_connect (history, "value-changed", G_CALLBACK (history_changed_cb), NULL);
  adw_window_set_content (ADW_WINDOW (self), content);
  gtk_widget_add_controller (self, escape_new ());
  gtk_window_present (GTK_WINDOW (self));
}
