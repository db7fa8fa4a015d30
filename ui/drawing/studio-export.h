/* Writes any Cairo drawing to a file: graphs, charts, heat maps. */
#pragma once

#include <cairo.h>
#include <pango/pango.h>

typedef void (*StudioExportDraw) (cairo_t *cr, double width, double height, gpointer data);
/* By extension, also in capitals: .svg, .pdf, or .png of twice the size, or of the size at which it has 100 million
 * pixels; written completely or not at all. Errors: USAGE, IO. */
gboolean studio_export_drawing (const char *path, double width, double height, StudioExportDraw draw, gpointer data,
                                GError **error);
/* The same times scale, which must be above 0: of the page, or of the pixels of a PNG. Errors also: USAGE if a PNG
 * would have more pixels than Cairo has. */
gboolean studio_export_drawing_scaled (const char *path, double width, double height, double scale,
                                       StudioExportDraw draw, gpointer data, GError **error);
/* TRUE if a path ends in this suffix, ".pdf", in small letters or capitals. */
gboolean studio_export_has_suffix (const char *path, const char *suffix);
/* TRUE if a drawing can be written to a file of this name. */
gboolean studio_export_draws (const char *path);
/* A drawing as the bytes of an SVG file. (transfer full) */
GBytes *studio_export_svg (double width, double height, StudioExportDraw draw, gpointer data, GError **error);
/* For text in a file, without a display. */
PangoContext *studio_export_context_new (void);
