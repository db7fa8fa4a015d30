/* Writes drawings to files; see the header. */
#include "ui/drawing/studio-export.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <glib/gi18n.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/drawing/svg-compact.h"

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
/* Cairo's images have at most this number of pixels on each side. */
#define PNG_MOST 32767
/* The most pixels of a PNG whose scale is not given: 400 MB while it is drawn. */
#define PNG_USUAL_PIXELS 1e8

static cairo_surface_t *
new_png (GByteArray *out, double width, double height)
{
  return cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int)ceil (width), (int)ceil (height));
}

/* Cairo writes 9,000 bytes for each card. Smaller drawings stay as they are, and can be edited shape by shape. */
#define PLAIN_SVG 200000

typedef struct
{
  const char *suffix;
  SurfaceNew surface;
  gboolean is_image;
} Format;

static const Format formats[] = {
  { ".svg", new_svg, FALSE },
  { ".pdf", new_pdf, FALSE },
  { ".png", new_png, TRUE },
};

static GBytes *
draw_to_bytes (const Format *format, double width, double height, double scale, StudioExportDraw draw, gpointer data,
               GError **error)
{
  GByteArray *out = g_byte_array_new ();
  cairo_surface_t *surface = format->surface (out, width * scale, height * scale);
  cairo_t *cr = cairo_create (surface);
  cairo_scale (cr, scale, scale);
  if (format->is_image)
    {
      cairo_set_source_rgb (cr, 1, 1, 1);
      cairo_paint (cr);
    }
  draw (cr, width, height, data);
  cairo_destroy (cr);
  cairo_status_t status = CAIRO_STATUS_SUCCESS;
  if (format->is_image)
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
  g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (out);
  return format->surface == new_svg && g_bytes_get_size (bytes) > PLAIN_SVG ? studio_svg_compact (bytes)
                                                                            : g_steal_pointer (&bytes);
}

gboolean
studio_export_has_suffix (const char *path, const char *suffix)
{
  const gsize n = strlen (path), end = strlen (suffix);

  return n >= end && g_ascii_strcasecmp (path + n - end, suffix) == 0;
}

static const Format *
format_of (const char *path)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (studio_export_has_suffix (path, formats[i].suffix))
      return &formats[i];
  return NULL;
}

gboolean
studio_export_draws (const char *path)
{
  return format_of (path) != NULL;
}

static const Format *
find_format (const char *path, GError **error)
{
  const Format *format = format_of (path);

  if (format != NULL)
    return format;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, _ ("“%s” must end in .svg, .pdf or .png."), path);
  return NULL;
}

gboolean
studio_export_drawing_scaled (const char *path, double width, double height, double scale, StudioExportDraw draw,
                              gpointer data, GError **error)
{
  const Format *format = find_format (path, error);
  const double most = MAX (width, height) * scale;

  if (format == NULL)
    return FALSE;
  if (format->is_image && most > PNG_MOST)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   _ ("The picture would have %.0f pixels on its longer side, and a PNG has at most %d. Use a scale of "
                      "at most %.2g, or SVG."),
                   most, PNG_MOST, floor (100 * scale * PNG_MOST / most) / 100);
      return FALSE;
    }
  g_autoptr (GBytes) bytes = draw_to_bytes (format, width, height, scale, draw, data, error);
  return bytes != NULL && loom_file_replace (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
}

gboolean
studio_export_drawing (const char *path, double width, double height, StudioExportDraw draw, gpointer data,
                       GError **error)
{
  double scale = 1;

  if (studio_export_has_suffix (path, ".png"))
    scale = MIN (PNG_SCALE, MIN (PNG_MOST / MAX (width, height), sqrt (PNG_USUAL_PIXELS / (width * height))));
  return studio_export_drawing_scaled (path, width, height, scale, draw, data, error);
}

GBytes *
studio_export_svg (double width, double height, StudioExportDraw draw, gpointer data, GError **error)
{
  return draw_to_bytes (&formats[0], width, height, 1, draw, data, error);
}

PangoContext *
studio_export_context_new (void)
{
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  g_autoptr (PangoFontDescription) font = pango_font_description_from_string ("Cantarell, DejaVu Sans, sans-serif 11");
  pango_context_set_font_description (context, font);
  return context;
}
