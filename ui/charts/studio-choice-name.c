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
