/* Implements studio-tooltip.h. */
#include "ui/charts/studio-tooltip.h"

void
studio_hide_tooltip_under_menu (GtkWidget *menu_button)
{
  GtkPopover *popover = gtk_menu_button_get_popover (GTK_MENU_BUTTON (menu_button));
  if (popover != NULL)
    g_object_bind_property (popover, "visible", menu_button, "has-tooltip",
                            G_BINDING_SYNC_CREATE | G_BINDING_INVERT_BOOLEAN);
}

void
studio_set_tooltip (GtkWidget *widget, const char *text)
{
  if (g_strcmp0 (gtk_widget_get_tooltip_text (widget), text) != 0)
    gtk_widget_set_tooltip_text (widget, text);
}
