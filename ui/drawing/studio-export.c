/* Writes drawings to files; see the header. */
#include "ui/drawing/studio-export.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <glib/gi18n.h>
#include <pango/pangocairo.h>

#include "engine/loom.h"

static cairo_status_t
append_bytes (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

typedef cairo_surface_t *(*SurfaceNew) (GByteArray *out, double width, double height);

static cairo_surface_t *
new_svg (GByteArray *out, double width, double height)
{
  cairo_surface_t *surface = cairo_svg_surface_create_for_stream (append_bytes, out, width, height);
  cairo_svg_surface_set_document_unit (surface, CAIRO_SVG_UNIT_PX);
  return surface;
}

static cairo_surface_t *
new_pdf (GByteArray *out, double width, double height)
{
  return cairo_pdf_surface_create_for_stream (append_bytes, out, width, height);
}

/* Twice the size on screen, so that a picture in a paper or on a slide is sharp. */
#define PNG_SCALE 2

static cairo_surface_t *
new_png (GByteArray *out, double width, double height)
{
  cairo_surface_t *surface
      = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int)(width * PNG_SCALE), (int)(height * PNG_SCALE));
  cairo_surface_set_device_scale (surface, PNG_SCALE, PNG_SCALE);
  return surface;
}

static const struct
{
  const char *suffix;
  SurfaceNew surface;
  gboolean is_image;
} formats[] = {
  { ".svg", new_svg, FALSE },
  { ".pdf", new_pdf, FALSE },
  { ".png", new_png, TRUE },
};

static GBytes *
draw_to_bytes (guint format, double width, double height, StudioExportDraw draw, gpointer data, GError **error)
{
  GByteArray *out = g_byte_array_new ();
  cairo_surface_t *surface = formats[format].surface (out, width, height);
  cairo_t *cr = cairo_create (surface);
  if (formats[format].is_image)
    {
      cairo_set_source_rgb (cr, 1, 1, 1);
      cairo_paint (cr);
    }
  draw (cr, width, height, data);
  cairo_destroy (cr);
  cairo_status_t status = CAIRO_STATUS_SUCCESS;
  if (formats[format].is_image)
    status = cairo_surface_write_to_png_stream (surface, append_bytes, out);
  cairo_surface_finish (surface);
  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_status (surface);
  cairo_surface_destroy (surface);
  if (status != CAIRO_STATUS_SUCCESS)
    {
      g_byte_array_unref (out);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("The picture could not be drawn: %s."),
                   cairo_status_to_string (status));
      return NULL;
    }
  return g_byte_array_free_to_bytes (out);
}

gboolean
studio_export_drawing (const char *path, double width, double height, StudioExportDraw draw, gpointer data,
                       GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      if (!g_str_has_suffix (path, formats[i].suffix))
        continue;
      g_autoptr (GBytes) bytes = draw_to_bytes (i, width, height, draw, data, error);
      return bytes != NULL && loom_file_replace (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
    }
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, _ ("“%s” must end in .svg, .pdf or .png."), path);
  return FALSE;
}

PangoContext *
studio_export_context_new (void)
{
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  g_autoptr (PangoFontDescription) font = pango_font_description_from_string ("Cantarell, DejaVu Sans, sans-serif 11");
  pango_context_set_font_description (context, font);
  return context;
}
