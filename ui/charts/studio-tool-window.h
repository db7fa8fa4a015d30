/* A window of tables or texts next to another window. */
#pragma once

#include <gtk/gtk.h>

/* A flat header over the content. Escape and Ctrl+W close the window, as the end of its parent does. pages: the stack
 * in the content that the header switches; NULL: the header shows the title. */
GtkWidget *studio_tool_window_new (GtkWindow *parent, const char *title, int width, int height, GtkWidget *pages,
                                   GtkWidget *content);
