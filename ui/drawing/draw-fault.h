/* Draws the icons and sentences of faults with Cairo. */
#pragma once

#include "ui/drawing/draw-card.h"

/* A triangle for an error, a disc for a warning, a broken ring for something incomplete, so that colour is not needed.
 * Centred on (x, y). */
void studio_draw_sign (cairo_t *cr, double x, double y, double size, StudioTone tone, const StudioTheme *theme);
const StudioColor *studio_theme_tone (const StudioTheme *theme, StudioTone tone);
/* Draws the bubble with the sentence and the quick-fix button; nothing if the card has only the icon. The card's corner
 * is at (0, 0). */
void studio_draw_fault (cairo_t *cr, const StudioItem *item, const StudioCardTexts *texts, const StudioTheme *theme);
