/* A part that unfolds. */
#pragma once

#include <gtk/gtk.h>

/* Folded. title is also its accessible name, which GTK does not give it. */
GtkWidget *studio_expander_new (const char *title, GtkWidget *child);
