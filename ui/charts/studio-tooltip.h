/* Tooltips: of menu buttons, which are hidden while the menu is open, and texts that are set again and again. */
#pragma once

#include <gtk/gtk.h>

/* Call again after the button got another menu. */
void studio_hide_tooltip_under_menu (GtkWidget *menu_button);

/* Sets the text if it is another one: GTK queries the X server for the pointer at every call. */
void studio_set_tooltip (GtkWidget *widget, const char *text);
