/* Draws the health of cards with Cairo. */
#pragma once

#include <pango/pango.h>

#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-health.h"

/* Draws a bar along the lower edge of a card of this size at (0, 0), with a mark at the card's figure, and the figure
 * at its end; for a sick card with a sign. Nothing if the card's health is unknown. text is any small layout and is
 * changed; NULL: no figure. */
void studio_draw_health (cairo_t *cr, const StudioItem *item, double width, double height, double radius,
                         const StudioTheme *theme, PangoLayout *text);
/* Draws the legend with its lower left corner at (x, y); returns its height. width: the largest that it may have. */
double studio_draw_health_legend (cairo_t *cr, const StudioScene *scene, double x, double y, double width,
                                  const StudioTheme *theme, PangoLayout *text);
/* Draws a sentence in a box as wide as the card, below its figure; (x, y) is the card's lower left corner in pixels.
 * The box stays above `bottom`. */
void studio_draw_health_sentence (cairo_t *cr, const char *sentence, double x, double y, double width, double bottom,
                                  const StudioTheme *theme, PangoLayout *text);
