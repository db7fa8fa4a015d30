/* Draws the legend of types: the line style of each type in the graph. */
#pragma once

#include <pango/pango.h>

#include "ui/drawing/studio-theme.h"

/* One row per type of a wire or output in the scene, and one for wires of unknown type; the lower left corner is at (x,
 * y). Returns the height; 0: nothing to draw. */
double studio_draw_types_legend (cairo_t *cr, const StudioScene *scene, double x, double y, const StudioTheme *theme,
                                 PangoContext *context);
