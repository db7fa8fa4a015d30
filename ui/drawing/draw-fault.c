/* Errors are red, warnings are amber, and incomplete parts are grey. */
#include "ui/drawing/draw-fault.h"

#include <pango/pangocairo.h>

const StudioColor *
studio_theme_tone (const StudioTheme *theme, StudioTone tone)
{
  return tone == STUDIO_TONE_ERROR ? &theme->error : tone == STUDIO_TONE_ADVICE ? &theme->advice : &theme->todo;
}

/* A stroke and a dot: "!" or "i". */
static void
draw_stroke (cairo_t *cr, double size, gboolean dot_above)
{
  double w = size / 9, top = -size * 0.22, long_h = size * 0.3, gap = size * 0.08, short_h = size * 0.11;

  cairo_rectangle (cr, -w / 2, dot_above ? top + short_h + gap : top, w, long_h);
  cairo_rectangle (cr, -w / 2, dot_above ? top : top + long_h + gap, w, short_h);
  cairo_fill (cr);
}

void
studio_draw_sign (cairo_t *cr, double x, double y, double size, StudioTone tone, const StudioTheme *theme)
{
  const StudioColor *color = studio_theme_tone (theme, tone);
  const double dash[] = { size * 0.16, size * 0.12 };
  double r = size / 2;

  cairo_save (cr);
  cairo_translate (cr, x, y);
  cairo_new_path (cr);
  if (tone == STUDIO_TONE_ERROR)
    {
      cairo_move_to (cr, 0, -r * 0.9);
      cairo_line_to (cr, r, r * 0.85);
      cairo_line_to (cr, -r, r * 0.85);
      cairo_close_path (cr);
    }
  else
    cairo_arc (cr, 0, 0, r * 0.94, 0, 2 * G_PI);
  studio_color_set (tone == STUDIO_TONE_TODO ? &theme->background : color, cr);
  if (tone == STUDIO_TONE_TODO)
    {
      cairo_fill_preserve (cr);
      studio_color_set (color, cr);
      cairo_set_line_width (cr, size / 9);
      cairo_set_dash (cr, dash, G_N_ELEMENTS (dash), 0);
      cairo_stroke (cr);
    }
  else
    {
      cairo_fill (cr);
      studio_color_set (&theme->background, cr);
      if (tone == STUDIO_TONE_ERROR)
        cairo_translate (cr, 0, size * 0.1);
      draw_stroke (cr, size, tone == STUDIO_TONE_ADVICE);
    }
  cairo_restore (cr);
}

static void
show_text (cairo_t *cr, PangoLayout *layout, double x, double y, const StudioColor *color)
{
  cairo_move_to (cr, x, y);
  studio_color_set (color, cr);
  pango_cairo_show_layout (cr, layout);
}

void
studio_draw_fault (cairo_t *cr, const StudioItem *item, const StudioCardTexts *texts, const StudioTheme *theme)
{
  StudioRect r = studio_geometry_fault (item), b = studio_geometry_fix_button (item);
  StudioTone tone = studio_item_tone (item);
  StudioColor fill = *studio_theme_tone (theme, tone);
  double x = r.x - item->x, y = r.y - item->y;

  if (r.height <= 0 || texts->fault == NULL)
    return;
  fill.alpha = 0.10f;
  studio_draw_box (cr, x, y, r.width, r.height, 8, &theme->background, 1, NULL);
  studio_draw_box (cr, x, y, r.width, r.height, 8, &fill, 1, studio_theme_tone (theme, tone));
  studio_draw_sign (cr, x + 16, y + 14, 15, tone, theme);
  show_text (cr, texts->fault, x + 28, y + 6, &theme->text);
  if (texts->fix != NULL)
    {
      int h;

      fill.alpha = 0.16f;
      x = b.x - item->x;
      y = b.y - item->y;
      studio_draw_box (cr, x, y, b.width, b.height, 6, &fill, 1, NULL);
      pango_layout_get_pixel_size (texts->fix, NULL, &h);
      show_text (cr, texts->fix, x + (b.width - pango_layout_get_width (texts->fix) / (double)PANGO_SCALE) / 2,
                 y + (b.height - h) / 2.0, &theme->text);
    }
}
