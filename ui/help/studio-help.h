/* The Help window (F1) with the pages of help/; the last page lists all shortcuts. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_HELP_KEYS "keys"

/* Shows the page of this name, or the last page shown (NULL). *window is a weak pointer, initially NULL; the window is
 * reused. */
void studio_help_present (GtkWindow *parent, GtkWidget **window, const char *page);
/* The page of shortcuts, generated from the list of commands. */
GtkWidget *studio_help_keys_new (void);
