/* Hides the tooltip of a menu button while its menu is open. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* Call again after the button got another menu. */
void studio_hide_tooltip_under_menu (GtkWidget *menu_button);

G_END_DECLS
