/* The legend of types: how wires of each type that is in the graph are drawn. */
#pragma once

#include <pango/pango.h>

#include "ui/drawing/studio-theme.h"

G_BEGIN_DECLS

/* A row for each type on a wire or at an output of the scene, and one for wires whose type is not known yet; its lower
 * left corner is at (x, y). Returns its height; 0, and nothing is drawn, where there is nothing to say. */
double studio_draw_types_legend (cairo_t *cr, const StudioScene *scene, double x, double y, const StudioTheme *theme,
                                 PangoContext *context);

G_END_DECLS
