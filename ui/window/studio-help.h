/* Help as pages in the program (F1), the last of which lists all keys. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_HELP_KEYS "keys"

/* Shows the page of this name, or the one that was looked at last (NULL), in a window over parent, which is kept in
 * *window: a weak pointer that is NULL at first. */
void studio_help_present (GtkWindow *parent, GtkWidget **window, const char *page);
/* The page of keys, made from the list of commands. */
GtkWidget *studio_help_keys_new (void);

G_END_DECLS
