/* Draws the patterns of kinds of memory; see the header. */
#include "ui/drawing/draw-owner.h"

typedef enum
{
  PATTERN_SOLID,
  PATTERN_RISING,
  PATTERN_FALLING,
  PATTERN_DOTS,
  PATTERN_CROSS,
  PATTERN_EMPTY
} Pattern;

void
studio_draw_owner_colour (cairo_t *cr, gboolean dark, double alpha)
{
  if (dark)
    cairo_set_source_rgba (cr, 0x99 / 255., 0xc1 / 255., 0xf1 / 255., alpha);
  else
    cairo_set_source_rgba (cr, 0x1a / 255., 0x5f / 255., 0xb4 / 255., alpha);
}

static void
hatch (cairo_t *cr, double x, double y, double w, double h, gboolean rising, double pitch)
{
  for (double at = x - h; at < x + w; at += pitch)
    {
      cairo_move_to (cr, at, rising ? y + h : y);
      cairo_line_to (cr, at + h, rising ? y : y + h);
    }
  cairo_stroke (cr);
}

void
studio_draw_owner_pattern (cairo_t *cr, gboolean dark, guint kind, double x, double y, double w, double h)
{
  cairo_set_line_width (cr, 1.5);
  studio_draw_owner_colour (cr, dark, 0.16);
  cairo_paint (cr);
  studio_draw_owner_colour (cr, dark, 1);
  switch ((Pattern)(kind % 6))
    {
    case PATTERN_SOLID:
      cairo_paint (cr);
      break;
    case PATTERN_RISING:
      hatch (cr, x, y, w, h, TRUE, 5);
      break;
    case PATTERN_FALLING:
      hatch (cr, x, y, w, h, FALSE, 5);
      break;
    case PATTERN_DOTS:
      for (double dy = y + 2.5; dy < y + h; dy += 5)
        for (double dx = x + 2.5; dx < x + w; dx += 5)
          {
            cairo_arc (cr, dx, dy, 1.2, 0, 2 * G_PI);
            cairo_fill (cr);
          }
      break;
    case PATTERN_CROSS:
      hatch (cr, x, y, w, h, TRUE, 7);
      hatch (cr, x, y, w, h, FALSE, 7);
      break;
    case PATTERN_EMPTY:
      break;
    }
}
