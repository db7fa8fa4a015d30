#include "ui/drawing/draw-health.h"

#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"

#define BAR        6.0
#define MARK       3.0 /* half the width of the mark on the bar */
#define STRIPES    4.0 /* distance of the stripes of a band */
#define MOST_ABOVE 8.0 /* of a figure, above the card's edge */
#define EDGE       8.0 /* between a figure and the card's edge */
#define SIGN       12.0
#define GAP        26.0 /* between a card and its sentence: the figure */

/* Stripes, so that a band does not depend on colour. */
static void
draw_band (cairo_t *cr, double x, double y, double width, double height, const StudioColor *color)
{
  if (width <= 0)
    return;
  cairo_save (cr);
  cairo_rectangle (cr, x, y, width, height);
  cairo_clip (cr);
  studio_color_set (color, cr);
  cairo_set_line_width (cr, 1.2);
  for (double at = x - height; at < x + width; at += STRIPES)
    {
      cairo_move_to (cr, at, y + height);
      cairo_line_to (cr, at + height, y);
    }
  cairo_stroke (cr);
  cairo_restore (cr);
}

static void
draw_mark (cairo_t *cr, double x, double y, double height, const StudioColor *color, const StudioColor *border)
{
  studio_draw_box (cr, x - MARK - 1, y - 3, 2 * MARK + 2, height + 6, MARK, border, 0, NULL);
  studio_draw_box (cr, x - MARK, y - 2, 2 * MARK, height + 4, MARK, color, 0, NULL);
}

/* A triangle with an exclamation mark. */
static void
draw_sign (cairo_t *cr, double x, double y, const StudioTheme *theme)
{
  studio_color_set (&theme->error, cr);
  cairo_move_to (cr, x + SIGN / 2, y);
  cairo_line_to (cr, x + SIGN, y + SIGN);
  cairo_line_to (cr, x, y + SIGN);
  cairo_close_path (cr);
  cairo_fill (cr);
  studio_color_set (&theme->background, cr);
  cairo_rectangle (cr, x + SIGN / 2 - 0.8, y + 4, 1.6, 4);
  cairo_rectangle (cr, x + SIGN / 2 - 0.8, y + 9, 1.6, 1.6);
  cairo_fill (cr);
}

static gboolean
covers (double left, double width, double mark)
{
  return mark > left - MARK - 1 && mark < left + width + MARK + 1;
}

/* A figure of this width stands at the bar's end, or at its beginning if it covers the mark there. */
static double
left_of_figure (double width, double card, double mark)
{
  const double end = card - width - EDGE;

  return covers (end, width, mark) && !covers (EDGE, width, mark) ? EDGE : end;
}

/* mark: its distance from the card's left edge; NAN: there is none. */
static void
draw_figure (cairo_t *cr, const StudioItem *item, double width, double height, double mark, const StudioTheme *theme,
             PangoLayout *text)
{
  const gboolean sick = item->health.verdict != LOOM_HEALTH_WELL;
  const double sign = sick ? SIGN + 4 : 0;
  g_autofree char *figure = studio_health_figure (&item->health);
  int w, h;

  if (figure == NULL && !sick)
    return;
  pango_layout_set_text (text, figure != NULL ? figure : "", -1);
  pango_layout_get_pixel_size (text, &w, &h);
  const double top = height - MIN (h / 2.0, MOST_ABOVE) + 2, box = w + sign + 12;
  const double left = left_of_figure (box, width, mark);

  studio_draw_box (cr, left, top - 1, box, h + 2, h / 2.0 + 1, &theme->background, sick ? 1.5 : 1,
                   sick ? &theme->error : &theme->border);
  if (sick)
    draw_sign (cr, left + 6, top + (h - SIGN) / 2, theme);
  cairo_move_to (cr, left + sign + 6, top);
  studio_color_set (sick ? &theme->error : &theme->text, cr);
  pango_cairo_show_layout (cr, text);
}

void
studio_draw_health (cairo_t *cr, const StudioItem *item, double width, double height, double radius,
                    const StudioTheme *theme, PangoLayout *text)
{
  const double bar = width < 90 ? 4 : BAR, inset = MIN (radius, 6), length = width - 2 * inset, y = height - bar / 2;
  const gboolean sick = item->health.verdict != LOOM_HEALTH_WELL;
  double at, low, high, mark = NAN;

  if (studio_health_bar (&item->health, &at))
    {
      studio_health_bands (&item->health, &low, &high);
      studio_draw_box (cr, inset, y, length, bar, bar / 2, &theme->background, 1, &theme->dim);
      draw_band (cr, inset, y, length * low, bar, &theme->error);
      draw_band (cr, inset + length * high, y, length * (1 - high), bar, &theme->error);
      mark = inset + length * at;
      draw_mark (cr, mark, y, bar, sick ? &theme->error : &theme->accent, &theme->background);
    }
  if (text != NULL && item->health.is_known)
    draw_figure (cr, item, width, height, mark, theme, text);
}

/* The bar of the legend: both bands, and a mark. */
static void
draw_sample (cairo_t *cr, double x, double y, const StudioTheme *theme)
{
  studio_draw_box (cr, x, y, 48, BAR, BAR / 2, &theme->background, 1, &theme->dim);
  draw_band (cr, x, y, 12, BAR, &theme->error);
  draw_band (cr, x + 38, y, 10, BAR, &theme->error);
  draw_mark (cr, x + 26, y, BAR, &theme->accent, &theme->background);
}

double
studio_draw_health_legend (cairo_t *cr, const StudioScene *scene, double x, double y, double width,
                           const StudioTheme *theme, PangoLayout *text)
{
  const double sample = scene->has_health ? 58 : 0;
  int w, h;

  pango_layout_set_text (text, studio_health_legend (scene), -1);
  pango_layout_set_width (text, (int)(MAX (width - sample - 20, 80) * PANGO_SCALE));
  pango_layout_get_pixel_size (text, &w, &h);
  y -= h + 8;
  studio_draw_box (cr, x, y, w + sample + 16, h + 8, 6, &theme->background, 1, &theme->border);
  if (scene->has_health)
    draw_sample (cr, x + 8, y + (h + 8) / 2.0 - BAR / 2, theme);
  cairo_move_to (cr, x + 8 + sample, y + 4);
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
  return h + 8;
}

void
studio_draw_health_sentence (cairo_t *cr, const char *sentence, double x, double y, double width, double bottom,
                             const StudioTheme *theme, PangoLayout *text)
{
  int w, h;

  pango_layout_set_text (text, sentence, -1);
  pango_layout_set_wrap (text, PANGO_WRAP_WORD_CHAR);
  pango_layout_set_width (text, (int)((width - 16) * PANGO_SCALE));
  pango_layout_get_pixel_size (text, &w, &h);
  y = MIN (y + GAP, bottom - h - 12);
  studio_draw_box (cr, x, y, width, h + 10, 6, &theme->error_background, 1.5, &theme->error);
  cairo_move_to (cr, x + 8, y + 5);
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
}
