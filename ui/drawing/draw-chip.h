/* Draws a chip with Cairo: the value at a port in a few words, and for a tensor its histogram. */
#pragma once

#include <pango/pango.h>

#include "ui/drawing/studio-theme.h"

#define STUDIO_CHIP_BARS 16

typedef struct
{
  char *text;        /* "0.3421", "0.12 ± 0.4" */
  gboolean has_bars; /* FALSE: a number */
  guint32 bar[STUDIO_CHIP_BARS];
} StudioChip;

/* In the units of text at zoom 1. */
void studio_chip_size (const StudioChip *chip, PangoLayout *layout, double *width, double *height);
/* At (x, y) in pixels, enlarged by zoom. A gradient has another colour, and a mark before its text. layout is changed.
 */
void studio_draw_chip (cairo_t *cr, const StudioChip *chip, gboolean is_gradient, double x, double y, double zoom,
                       const StudioTheme *theme, PangoLayout *layout);
