/* Pango layouts for text on charts, heat maps and bars: the context's font at 11 pixels with tabular figures. */
#pragma once

#include <pango/pangocairo.h>

/* scale: 1, or more in a presentation. (transfer full) */
PangoLayout *chart_text_layout (PangoContext *context, double scale, gboolean strong, const char *text);
/* Draws a layout with its left, middle or right (align 0, 0.5, 1) at x and its middle at y, shortened to `most` pixels;
 * cr NULL: only measures. Returns the width in pixels. */
double chart_text_draw (cairo_t *cr, PangoLayout *layout, double x, double y, double align, double most);
