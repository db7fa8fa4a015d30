/* Icons come from the resource built from data/icons and are drawn by librsvg in one colour. */
#include "ui/drawing/draw-icon.h"

#include <librsvg/rsvg.h>

/* The desktop's icon theme has no icon for modules: four squares. */
static void
draw_grid (cairo_t *cr, const StudioColor *color)
{
  studio_color_set (color, cr);
  for (int i = 0; i < 4; i++)
    cairo_rectangle (cr, 2 + 7 * (i % 2), 2 + 7 * (i / 2), 5, 5);
  cairo_fill (cr);
}

static RsvgHandle *
load (const char *name, const StudioColor *color)
{
  g_autofree char *path = g_strdup_printf ("/org/gradloom/Studio/icons/scalable/actions/%s.svg", name);
  g_autofree char *css = g_strdup_printf (
      "rect,circle,path,ellipse,line,polygon,polyline { fill: #%02x%02x%02x !important; }",
      (int)(color->red * 255 + 0.5f), (int)(color->green * 255 + 0.5f), (int)(color->blue * 255 + 0.5f));
  g_autoptr (GBytes) bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  RsvgHandle *handle = bytes != NULL
                           ? rsvg_handle_new_from_data (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), NULL)
                           : NULL;

  if (handle != NULL)
    rsvg_handle_set_stylesheet (handle, (const guint8 *)css, strlen (css), NULL);
  return handle;
}

gboolean
studio_draw_own_icon (cairo_t *cr, const char *name, const StudioColor *color, gpointer unused)
{
  const RsvgRectangle place = { 0, 0, 16, 16 };
  RsvgHandle *handle;
  gboolean drawn;

  if (g_str_equal (name, "view-grid-symbolic"))
    {
      draw_grid (cr, color);
      return TRUE;
    }
  handle = load (name, color);
  drawn = handle != NULL && rsvg_handle_render_document (handle, cr, &place, NULL);
  g_clear_object (&handle);
  return drawn;
}
