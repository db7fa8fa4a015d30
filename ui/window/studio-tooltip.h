/* Tooltips of buttons with a menu. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* Its tooltip does not lie over its menu. To be called again for another menu. */
void studio_hide_tooltip_behind (GtkWidget *menu_button);

G_END_DECLS
