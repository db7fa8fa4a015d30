/* The focus is on a button inside the list, to which GTK 4.8 gives no name: it would be read as "GtkToggleButton". */
#include "ui/charts/studio-choice-name.h"

#include <glib/gi18n.h>

static void
name_button (GtkDropDown *choice, GParamSpec *pspec, const char *name)
{
  GtkWidget *button = gtk_widget_get_first_child (GTK_WIDGET (choice));
  GObject *selected = gtk_drop_down_get_selected_item (choice);
  g_autofree char *words
      = GTK_IS_STRING_OBJECT (selected)
            /* Translators: a list's name and what is chosen. */
            ? g_strdup_printf (_ ("%1$s: %2$s"), name, gtk_string_object_get_string (GTK_STRING_OBJECT (selected)))
            : g_strdup (name);

  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, words, -1);
}

static void
free_name (gpointer name, GClosure *closure)
{
  g_free (name);
}

void
studio_choice_name_button (GtkDropDown *choice, const char *name)
{
  g_signal_handlers_disconnect_matched (choice, G_SIGNAL_MATCH_FUNC, 0, 0, NULL, name_button, NULL);
  g_signal_connect_data (choice, "notify::selected-item", G_CALLBACK (name_button), g_strdup (name), free_name, 0);
  name_button (choice, NULL, name);
}

void
studio_choice_set_name (GtkDropDown *choice, const char *name)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (choice), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  studio_choice_name_button (choice, name);
}

GMenuItem *
studio_choice_item_new (const char *text)
{
  g_auto (GStrv) pieces = g_strsplit (text, "_", -1);
  g_autofree char *label = g_strjoinv ("__", pieces);

  return g_menu_item_new (label, NULL);
}

void
studio_suggestions_append (GMenu *menu, const char *text)
{
  g_autoptr (GMenuItem) item = studio_choice_item_new (text);

  g_menu_item_set_action_and_target (item, "choice.set", "s", text);
  g_menu_append_item (menu, item);
}

GtkWidget *
studio_suggestions_new (const char *title, GtkMenuButtonCreatePopupFunc fill, GCallback chosen, gpointer row)
{
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GSimpleActionGroup) group = g_simple_action_group_new ();
  g_autoptr (GSimpleAction) action = g_simple_action_new ("set", G_VARIANT_TYPE_STRING);
  g_autofree char *label = g_strdup_printf (_ ("Choices of %s"), title);

  g_signal_connect (action, "activate", chosen, row);
  g_action_map_add_action (G_ACTION_MAP (group), G_ACTION (action));
  gtk_widget_insert_action_group (button, "choice", G_ACTION_GROUP (group));
  gtk_menu_button_set_create_popup_func (GTK_MENU_BUTTON (button), fill, row, NULL);
  gtk_widget_add_css_class (button, "flat");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return button;
}
