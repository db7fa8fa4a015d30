/* Draws cards at low zoom. As the zoom decreases, the text below the name is dropped first, then the name; the colour
 * stays.
 *
 * Names are drawn in screen pixels, larger than the card allows, so that they stay readable. */
#include "ui/drawing/draw-far.h"

#include <math.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-fault.h"

#define LEAST_TEXT  10.5 /* pixels */
#define LEAST_FIT   10.0 /* pixels; a name that does not fit is made no smaller than that */
#define LEAST_DOTS  36.0 /* a narrower name is cut off */
#define LEAST_NAMED 26.0 /* a narrower card has no space for two letters */

/* The font scale of a name at this zoom: readable, and no higher than the card. */
static double
text_size (PangoContext *context, double zoom, double height)
{
  double larger = studio_text_enlargement (context), usual = 10 * 96 / 72.0;

  return MIN (MAX (usual * larger * zoom, LEAST_TEXT * MIN (larger, 1.5)), MAX (height * 0.78, 8));
}

static void
set_text (PangoLayout *text, const char *name, double size, double width, double height)
{
  PangoFontDescription *font
      = pango_font_description_copy (pango_context_get_font_description (pango_layout_get_context (text)));
  int lines = (int)CLAMP (floor (height / (size * 1.25)), 1, 2);

  pango_font_description_set_absolute_size (font, size * PANGO_SCALE);
  pango_font_description_set_weight (font, PANGO_WEIGHT_SEMIBOLD);
  pango_layout_set_font_description (text, font);
  pango_font_description_free (font);
  pango_layout_set_text (text, name, -1);
  pango_layout_set_width (text, width < 0 ? -1 : (int)(width * PANGO_SCALE));
  /* An ellipsis would take the space of letters that distinguish two names. */
  pango_layout_set_ellipsize (text, width < LEAST_DOTS ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_END);
  pango_layout_set_wrap (text, PANGO_WRAP_WORD_CHAR);
  if (width < LEAST_DOTS)
    {
      pango_layout_set_width (text, -1);
      lines = 1;
    }
  pango_layout_set_height (text, lines > 1 ? -lines : 0);
}

/* A whole name in smaller letters says more than the beginning of a large one: the size at which it fits. */
static double
fitted_size (PangoLayout *text, const char *name, double size, double width, double height)
{
  const double least = MIN (size, LEAST_FIT);

  for (double s = size;; s = MAX (s * 0.94, least))
    {
      int w;

      set_text (text, name, s, width, height);
      pango_layout_get_pixel_size (text, &w, NULL);
      if (s <= least || (!pango_layout_is_ellipsized (text) && w <= width))
        return s;
    }
}

static gboolean
is_whole (PangoLayout *text, double width)
{
  int w;

  pango_layout_get_pixel_size (text, &w, NULL);
  return !pango_layout_is_ellipsized (text) && w <= width;
}

static void
draw_name (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, double zoom, double width, double height,
           PangoLayout *text, const StudioFrameStyle *look)
{
  const char *icon = item->op != NULL ? item->op->icon : item->is_module ? "view-grid-symbolic" : NULL;
  double left = 5, side = CLAMP (16 * zoom, 10, 16), wide = MAX (width - left - 2, 8), narrow = wide - side - 3;
  double largest = text_size (pango_layout_get_context (text), zoom, height), top = 0, room, size;
  gboolean has_icon = icon != NULL && look->icon != NULL, at_side = FALSE;
  gboolean above = has_icon && height >= side + 1.3 * largest + 4;
  int h;

  /* The icon is above the name on a high card, else next to it if the whole name fits there or if it fits nowhere. */
  room = height - (above ? side + 2 : 0);
  size = fitted_size (text, item->title, largest, wide, room);
  if (!above && has_icon && height >= side + 2 && narrow >= 8)
    {
      gboolean whole = is_whole (text, wide);
      double smaller = fitted_size (text, item->title, largest, narrow, room);

      at_side = is_whole (text, narrow) || (!whole && narrow >= 44);
      size = at_side ? smaller : size;
    }
  set_text (text, item->title, size, at_side ? narrow : wide, room);
  pango_layout_get_pixel_size (text, NULL, &h);
  if (above)
    top = side + 1;
  if (above || at_side)
    {
      cairo_save (cr);
      cairo_translate (cr, left, floor (above ? (height - h - top) / 2 : (height - side) / 2));
      cairo_scale (cr, side / 16, side / 16);
      look->icon (cr, icon, studio_theme_category (theme, item), look->icon_data);
      cairo_restore (cr);
    }
  cairo_save (cr);
  cairo_rectangle (cr, 0, 0, width - 1, height);
  cairo_clip (cr);
  cairo_move_to (cr, left + (at_side ? side + 3 : 0), floor ((height - h + top) / 2));
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
  cairo_restore (cr);
}

#define BAND      3.0
#define MARK_ROOM 40.0 /* a narrower card has no space for the number of its stage or device */

/* Draws the band of a stage or device at the upper edge, and its number at the right, if there is space. Returns the
 * width of the number. */
static double
draw_part (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, double width, double height, double radius,
           PangoLayout *text)
{
  int w = 0, h;

  studio_color_set (studio_theme_partition_color (theme, item), cr);
  cairo_rectangle (cr, radius / 2, 0, width - radius, MIN (theme->high_contrast ? BAND + 2 : BAND, height / 3));
  cairo_fill (cr);
  if (width < MARK_ROOM || item->mark == NULL)
    return 0;
  set_text (text, item->mark, LEAST_TEXT, -1, 0);
  pango_layout_get_pixel_size (text, &w, &h);
  cairo_move_to (cr, width - w - 4, MIN (BAND + 1, height - h));
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
  return w + 4;
}

void
studio_draw_card_far (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, double zoom, double width,
                      double height, PangoLayout *text, const StudioFrameStyle *look)
{
  gboolean named = studio_geometry_is_named (item, zoom) && width >= LEAST_NAMED;
  StudioTone tone = studio_item_tone (item);
  StudioColor fill = *studio_theme_category (theme, item), border = fill;
  double radius = MIN (STUDIO_CARD_RADIUS * zoom, 5), line = 1, taken = 0;

  fill.alpha = (named ? theme->dark ? 0.42f : 0.34f : 0.8f) * (item->waits_for != NULL ? 0.5f : 1);
  if (tone == STUDIO_TONE_ERROR || look->selected)
    {
      border = tone == STUDIO_TONE_ERROR ? theme->error : theme->accent;
      line = 2;
    }
  studio_draw_box (cr, 0, 0, width, height, radius, &theme->card, 0, NULL);
  studio_draw_box (cr, 0, 0, width, height, radius, &fill, line, &border);
  if (item->tint > 0)
    taken = draw_part (cr, item, theme, width, height, radius, text);
  if (named)
    {
      studio_color_set (studio_theme_category (theme, item), cr);
      cairo_rectangle (cr, line, MIN (radius, 2), 2, height - 2 * MIN (radius, 2));
      cairo_fill (cr);
      draw_name (cr, item, theme, zoom, width - taken, height, text, look);
    }
  if (tone >= STUDIO_TONE_ADVICE && width >= 16)
    studio_draw_sign (cr, width - 4, 4, 11, tone, theme);
}
