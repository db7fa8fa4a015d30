/* Pictures of graphs to open: lessons, lectures, models, and what was open lately. Each picture is drawn by the program
 * itself when nothing else is to be done, so the page is there at once. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_GALLERY (studio_gallery_get_type ())
G_DECLARE_FINAL_TYPE (StudioGallery, studio_gallery, STUDIO, GALLERY, GtkWidget)

G_END_DECLS
