/* Draws a chip; see the header. The colour of gradients is that of integers, orange, which differs from the accent for
 * all eyes; the mark ∂ says the same without colour. */
#include "ui/drawing/draw-chip.h"

#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"

#define PADDING    6.0
#define BAR_WIDTH  2.0
#define BAR_GAP    0.5
#define BAR_HEIGHT 14.0

static double
bars_width (const StudioChip *chip)
{
  return chip->has_bars ? STUDIO_CHIP_BARS * (BAR_WIDTH + BAR_GAP) + PADDING : 0;
}

static void
set_text (PangoLayout *layout, const StudioChip *chip, gboolean is_gradient)
{
  g_autofree char *text = g_strconcat (is_gradient ? "∂ " : "", chip->text, NULL);

  pango_layout_set_text (layout, text, -1);
}

void
studio_chip_size (const StudioChip *chip, PangoLayout *layout, double *width, double *height)
{
  int w, h;

  /* Both kinds have the width of a gradient, so that they stand in a column. */
  set_text (layout, chip, TRUE);
  pango_layout_get_pixel_size (layout, &w, &h);
  *width = w + 2 * PADDING + bars_width (chip);
  *height = MAX (h, BAR_HEIGHT) + 4;
}

static void
draw_bars (cairo_t *cr, const StudioChip *chip, double x, double y, const StudioColor *color)
{
  guint32 most = 1;

  for (guint i = 0; i < STUDIO_CHIP_BARS; i++)
    most = MAX (most, chip->bar[i]);
  for (guint i = 0; i < STUDIO_CHIP_BARS; i++)
    {
      const double height = chip->bar[i] > 0 ? MAX (1, BAR_HEIGHT * chip->bar[i] / most) : 0;

      cairo_rectangle (cr, x + i * (BAR_WIDTH + BAR_GAP), y + BAR_HEIGHT - height, BAR_WIDTH, height);
    }
  studio_color_set (color, cr);
  cairo_fill (cr);
}

void
studio_draw_chip (cairo_t *cr, const StudioChip *chip, gboolean is_gradient, double x, double y, double zoom,
                  const StudioTheme *theme, PangoLayout *layout)
{
  const StudioColor *color = is_gradient ? &theme->dtype[LOOM_I64] : &theme->accent;
  double width, height;
  int w, h;

  studio_chip_size (chip, layout, &width, &height);
  set_text (layout, chip, is_gradient);
  pango_layout_get_pixel_size (layout, &w, &h);
  cairo_save (cr);
  cairo_translate (cr, x, y);
  cairo_scale (cr, zoom, zoom);
  studio_draw_box (cr, 0, 0, width, height, 4, &theme->background, 1.5, color);
  cairo_move_to (cr, PADDING, (height - h) / 2);
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, layout);
  if (chip->has_bars)
    draw_bars (cr, chip, width - bars_width (chip), (height - BAR_HEIGHT) / 2, color);
  cairo_restore (cr);
}
