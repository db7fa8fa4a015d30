/* Disables moving and resizing a window by header and edges if there is no window manager. */
#pragma once

#include <gtk/gtk.h>

void window_frame_setup (GtkWidget *window, GtkWidget *header);
