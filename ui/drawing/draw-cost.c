#include "ui/drawing/draw-cost.h"

#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"

#define BAR        4.0
#define MOST_ABOVE 5.0 /* of a number, above the card's edge */

void
studio_draw_cost (cairo_t *cr, const StudioScene *scene, const StudioItem *item, StudioMeasure measure, double width,
                  double height, double radius, const StudioTheme *theme, PangoLayout *text)
{
  double value = studio_measure_of (item, measure), share = studio_measure_share (scene, item, measure);
  g_autofree char *number = studio_measure_text (measure, value);
  double bar = width < 90 ? 3 : BAR, inset = MIN (radius, 6), length = width - 2 * inset;
  int w, h;

  if (value <= 0)
    return;
  studio_draw_box (cr, inset, height - bar / 2, length, bar, bar / 2, &theme->background, 0, NULL);
  studio_draw_box (cr, inset, height - bar / 2, length, bar, bar / 2, &theme->shape_label, 0, NULL);
  studio_draw_box (cr, inset, height - bar / 2, MAX (length * share, bar), bar, bar / 2, &theme->accent, 0, NULL);
  if (text == NULL)
    return;
  pango_layout_set_text (text, number, -1);
  pango_layout_get_pixel_size (text, &w, &h);
  /* A large number is below the bar, so that it does not cover the card's text. */
  const double top = height - MIN (h / 2.0, MOST_ABOVE);
  studio_draw_box (cr, width - w - 20, top - 1, w + 12, h + 2, h / 2.0 + 1, &theme->background, 1, &theme->border);
  cairo_move_to (cr, width - w - 14, top);
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
}

double
studio_draw_cost_legend (cairo_t *cr, const StudioScene *scene, StudioMeasure measure, double x, double y, double width,
                         const StudioTheme *theme, PangoLayout *text)
{
  g_autofree char *legend = studio_measure_legend (scene, measure);
  int w, h;

  pango_layout_set_text (text, legend, -1);
  pango_layout_set_width (text, (int)(MAX (width - 54, 80) * PANGO_SCALE));
  pango_layout_get_pixel_size (text, &w, &h);
  y -= h + 8;
  studio_draw_box (cr, x, y, w + 54, h + 8, 6, &theme->background, 1, &theme->border);
  studio_draw_box (cr, x + 8, y + (h + 8) / 2.0 - BAR / 2, 30, BAR, BAR / 2, &theme->shape_label, 0, NULL);
  studio_draw_box (cr, x + 8, y + (h + 8) / 2.0 - BAR / 2, 18, BAR, BAR / 2, &theme->accent, 0, NULL);
  cairo_move_to (cr, x + 46, y + 4);
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
  return h + 8;
}
