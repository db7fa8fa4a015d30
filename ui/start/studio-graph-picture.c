/* Draws a scene with cairo into memory and makes a texture of it. */
#include "ui/start/studio-graph-picture.h"

#include "ui/drawing/studio-picture.h"

/* Cairo's premultiplied ARGB32 is GDK_MEMORY_DEFAULT. */
GdkTexture *
studio_graph_picture_new (const StudioScene *scene, int width, int height, gboolean dark)
{
  cairo_surface_t *surface = studio_picture_thumbnail (scene, width, height, dark);
  g_autoptr (GBytes) bytes = NULL;
  int stride;

  if (surface == NULL)
    return NULL;
  stride = cairo_image_surface_get_stride (surface);
  bytes = g_bytes_new_with_free_func (cairo_image_surface_get_data (surface), (gsize)(stride * height),
                                      (GDestroyNotify)cairo_surface_destroy, surface);
  return gdk_memory_texture_new (width, height, GDK_MEMORY_DEFAULT, bytes, (gsize)stride);
}
