/* Draws cards at low zoom with Cairo, in screen pixels. */
#pragma once

#include "ui/drawing/draw-card.h"

/* Draws a card of this size at (0, 0): with name and icon if this zoom shows names, else as a block of the category's
 * colour. text is any layout with the font of cards and is changed. */
void studio_draw_card_far (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, double zoom, double width,
                           double height, PangoLayout *text, const StudioFrameStyle *look);
