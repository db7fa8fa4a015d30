/* The window of preferences. A change is written at once, and applies to runs that begin later. */
#include "ui/window/studio-preferences.h"

#include <glib/gi18n.h>

#include "ui/settings/studio-settings.h"

#define STEP 50

static void
history_changed_cb (GtkSpinButton *button)
{
  studio_settings_set_history (gtk_spin_button_get_value_as_int (button));
}

static GtkWidget *
history_row_new (void)
{
  GtkWidget *row = adw_action_row_new (),
            *button = gtk_spin_button_new_with_range (0, STUDIO_SETTINGS_HISTORY_MOST, STEP);

  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), _ ("Megabytes of the disk for a run"));
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row),
                               _ ("With more, going back to a step takes less time. 0 keeps nothing."));
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (button), (double)studio_settings_get_history ());
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  _ ("Megabytes of the disk for the history of a run"), -1);
  g_signal_connect (button, "value-changed", G_CALLBACK (history_changed_cb), NULL);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), button);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), button);
  return row;
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
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *page = adw_preferences_page_new ();
  AdwPreferencesGroup *history = ADW_PREFERENCES_GROUP (adw_preferences_group_new ());

  adw_preferences_group_set_title (history, _ ("History"));
  adw_preferences_group_set_description (
      history, _ ("States of a run by which it goes back to any of its steps, for runs that begin from now on"));
  adw_preferences_group_add (history, history_row_new ());
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), history);
  gtk_widget_set_vexpand (page, TRUE);
  gtk_box_append (GTK_BOX (box), adw_header_bar_new ());
  gtk_box_append (GTK_BOX (box), page);
  adw_window_set_content (ADW_WINDOW (self), box);
  gtk_widget_add_controller (self, escape_new ());
  gtk_window_present (GTK_WINDOW (self));
}
