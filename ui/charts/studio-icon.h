/* Symbolic icons of rows that come and go with each key: of choosers, the palette, the inspector, lists of faults.
 *
 * GtkImage loads a named icon in a thread of its own, which may drop the last reference to the icon while the main
 * thread finds the same one in the cache of the icon theme (GTK 4.8): g_object_ref() on an object that is being
 * finalized. An icon that is shown by these functions stays until the icon theme changes, and is loaded when it is
 * first drawn. */
#pragma once

#include <gtk/gtk.h>

/* Shows the symbolic icon of this name, 16 pixels wide, for the scale of `place`, a widget in whose window the image is
 * or will be, possibly the image itself. */
void studio_icon_show (GtkImage *image, GtkWidget *place, const char *name);
/* Such an image. Returns: (transfer floating). */
GtkWidget *studio_icon_image_new (GtkWidget *place, const char *name);
