/* Draws the figure of a card with Cairo. */
#pragma once

#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"

/* Inside the rectangle, in the colour of the card's category; without its label. */
void studio_draw_figure (cairo_t *cr, const StudioFigure *figure, const StudioRect *room, const StudioTheme *theme,
                         const StudioColor *color);
/* The part of the rectangle's width that the drawing takes; the label has the rest. */
double studio_figure_width (const StudioFigure *figure, const StudioRect *room);
