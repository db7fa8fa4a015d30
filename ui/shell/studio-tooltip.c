/* Implements studio-tooltip.h with the menu button's popover. */
#include "ui/shell/studio-tooltip.h"

void
studio_hide_tooltip_under_menu (GtkWidget *menu_button)
{
  GtkPopover *popover = gtk_menu_button_get_popover (GTK_MENU_BUTTON (menu_button));
  if (popover != NULL)
    g_object_bind_property (popover, "visible", menu_button, "has-tooltip",
                            G_BINDING_SYNC_CREATE | G_BINDING_INVERT_BOOLEAN);
}
