/* Cards as they are seen from afar, drawn with Cairo in screen pixels. */
#pragma once

#include "ui/drawing/draw-card.h"

G_BEGIN_DECLS

/* A card of this width and height at (0, 0): with its name and icon where it is named at the zoom, else a block in its
 * category's colour. text is any layout of the font of cards; it is changed. */
void studio_draw_card_far (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, double zoom, double width,
                           double height, PangoLayout *text, const StudioFrameLook *look);

G_END_DECLS
