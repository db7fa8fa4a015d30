/* Draws costs on cards with Cairo. */
#pragma once

#include <pango/pango.h>

#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-measure.h"

/* Draws a bar along the lower edge of a card of this size at (0, 0), and the number at its end. text is any small
 * layout and is changed; NULL: no number. */
void studio_draw_cost (cairo_t *cr, const StudioScene *scene, const StudioItem *item, StudioMeasure measure,
                       double width, double height, double radius, const StudioTheme *theme, PangoLayout *text);
/* Draws the legend of bars and numbers with its lower left corner at (x, y); returns its height. width: the
 * largest that it may have. */
double studio_draw_cost_legend (cairo_t *cr, const StudioScene *scene, StudioMeasure measure, double x, double y,
                                double width, const StudioTheme *theme, PangoLayout *text);
