/* Signs and sentences about a card, drawn with Cairo. */
#pragma once

#include "ui/drawing/draw-card.h"

G_BEGIN_DECLS

/* A triangle for an error, a disc for advice, a broken ring for what is not there yet: each is known without its
 * colour. Centred on (x, y). */
void studio_draw_sign (cairo_t *cr, double x, double y, double size, StudioTone tone, const StudioTheme *theme);
const StudioColor *studio_theme_tone (const StudioTheme *theme, StudioTone tone);
/* The bubble with the sentence, and the button that mends it; nothing where the card has the sign alone. The card's
 * corner is at (0, 0). */
void studio_draw_fault (cairo_t *cr, const StudioItem *item, const StudioCardTexts *texts, const StudioTheme *theme);

G_END_DECLS
