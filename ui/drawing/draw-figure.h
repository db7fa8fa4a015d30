/* Draws the figure that a card shows of its node, with Cairo. */
#pragma once

#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

/* Within the rectangle, in the colour of the card's category; a label is no part of it. */
void studio_draw_figure (cairo_t *cr, const StudioFigure *figure, const StudioRect *room, const StudioTheme *theme,
                         const StudioColor *color);
/* How much of the room's width the drawing takes: the label has the rest. */
double studio_figure_width (const StudioFigure *figure, const StudioRect *room);

G_END_DECLS
