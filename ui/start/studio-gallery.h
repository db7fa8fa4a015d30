/* A gallery of graphs to open, with thumbnails: lessons, lectures, models and recent files. Thumbnails are drawn one by
 * one when idle, so that the page appears at once. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_GALLERY (studio_gallery_get_type ())
G_DECLARE_FINAL_TYPE (StudioGallery, studio_gallery, STUDIO, GALLERY, GtkWidget)
