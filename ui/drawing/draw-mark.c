/* Draws the marks of a comparison. Their size does not follow the zoom, so that they are readable on small cards. */
#include "ui/drawing/draw-mark.h"

#include <math.h>
#include <glib/gi18n.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-wires.h"

#define LINE 3.0
#define GAP  4.0 /* between a card and its outline */

static const struct
{
  const char *sign, *word;
  gboolean dashed;
} kinds[STUDIO_N_MARKS] = {
  [STUDIO_MARK_ADDED] = { "+", N_ ("added"), FALSE },
  [STUDIO_MARK_REMOVED] = { "−", N_ ("removed"), TRUE },
  [STUDIO_MARK_CHANGED] = { "~", N_ ("changed"), FALSE },
  [STUDIO_MARK_RENAMED] = { "›", N_ ("renamed"), FALSE },
  [STUDIO_MARK_WOULD_CHANGE] = { "→", N_ ("would change"), TRUE },
};

const StudioColor *
studio_theme_mark (const StudioTheme *theme, StudioMarkKind kind)
{
  return kind == STUDIO_MARK_ADDED          ? &theme->added
         : kind == STUDIO_MARK_REMOVED      ? &theme->error
         : kind == STUDIO_MARK_WOULD_CHANGE ? &theme->accent
                                            : &theme->advice;
}

const char *
studio_mark_sign (StudioMarkKind kind)
{
  return kinds[kind].sign;
}

char *
studio_mark_totals (const guint *n)
{
  GString *s = g_string_new (NULL);
  const char *const words[] = {
    [STUDIO_MARK_ADDED] = ngettext ("%u added", "%u added", n[STUDIO_MARK_ADDED]),
    [STUDIO_MARK_REMOVED] = ngettext ("%u removed", "%u removed", n[STUDIO_MARK_REMOVED]),
    [STUDIO_MARK_CHANGED] = ngettext ("%u changed", "%u changed", n[STUDIO_MARK_CHANGED]),
    [STUDIO_MARK_RENAMED] = ngettext ("%u renamed", "%u renamed", n[STUDIO_MARK_RENAMED]),
  };

  for (guint k = 0; k < G_N_ELEMENTS (words); k++)
    if (n[k] > 0)
      {
        g_string_append_printf (s, "%s%s ", s->len > 0 ? " · " : "", kinds[k].sign);
        g_string_append_printf (s, words[k], n[k]);
      }
  return g_string_free (s, FALSE);
}

const char *
studio_mark_word (StudioMarkKind kind)
{
  return _ (kinds[kind].word);
}

static void
set_dash (cairo_t *cr)
{
  const double dash[] = { 7, 5 };

  cairo_set_dash (cr, dash, G_N_ELEMENTS (dash), 0);
}

/* The text of the tab: light on dark colours, dark on light ones. */
static void
draw_tab (cairo_t *cr, double x, double y, double most, StudioMarkKind kind, const char *words, PangoContext *context,
          const StudioTheme *theme)
{
  const StudioColor *color = studio_theme_mark (theme, kind);
  g_autofree char *text = g_strdup_printf ("%s %s", kinds[kind].sign, words == NULL ? _ (kinds[kind].word) : words);
  g_autoptr (PangoLayout) layout
      = studio_small_text_new (context, words == NULL && most <= 0 ? kinds[kind].sign : text);
  double room = MAX (most - 12, 8);
  int w, h;

  pango_layout_get_pixel_size (layout, &w, &h);
  if (most > 0 && w > room)
    {
      pango_layout_set_width (layout, (int)(room * PANGO_SCALE));
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
      pango_layout_set_height (layout, -1);
      pango_layout_get_pixel_size (layout, &w, &h);
    }
  studio_draw_box (cr, x, y - h, w + 12, h + 2, 6, color, 0, NULL);
  studio_color_set (&theme->background, cr);
  cairo_move_to (cr, x + 6, y - h + 1);
  pango_cairo_show_layout (cr, layout);
}

void
studio_draw_mark (cairo_t *cr, const StudioRect *card, StudioMarkKind kind, const char *words, gboolean small,
                  PangoContext *context, const StudioTheme *theme)
{
  double gap = small ? 2 : GAP, line = theme->high_contrast ? LINE + 1 : LINE;
  StudioRect out
      = { card->x - gap - line, card->y - gap - line, card->width + 2 * (gap + line), card->height + 2 * (gap + line) };

  cairo_save (cr);
  if (kinds[kind].dashed)
    set_dash (cr);
  studio_draw_box (cr, out.x, out.y, out.width, out.height, small ? 4 : STUDIO_CARD_RADIUS + gap, NULL, line,
                   studio_theme_mark (theme, kind));
  cairo_restore (cr);
  draw_tab (cr, out.x + (small ? 0 : 8), out.y + line, small ? 0 : out.width - 16, kind, small ? NULL : words, context,
            theme);
}

void
studio_draw_ghost (cairo_t *cr, const StudioRect *card, const char *name, gboolean small, PangoContext *context,
                   const StudioTheme *theme)
{
  StudioColor fill = theme->error;

  fill.alpha = theme->dark ? 0.14f : 0.07f;
  studio_draw_box (cr, card->x, card->y, card->width, card->height, small ? 3 : STUDIO_CARD_RADIUS, &fill, 0, NULL);
  cairo_save (cr);
  set_dash (cr);
  studio_draw_box (cr, card->x, card->y, card->width, card->height, small ? 3 : STUDIO_CARD_RADIUS, NULL, 2,
                   &theme->error);
  cairo_restore (cr);
  draw_tab (cr, card->x + (small ? 0 : 8), card->y + 1, small ? 0 : card->width - 16, STUDIO_MARK_REMOVED, NULL,
            context, theme);
  if (!small)
    {
      g_autoptr (PangoLayout) layout = studio_small_text_new (context, name);
      int w, h;

      pango_layout_set_width (layout, (int)(MAX (card->width - 24, 8) * PANGO_SCALE));
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
      pango_layout_set_alignment (layout, PANGO_ALIGN_CENTER);
      pango_layout_get_pixel_size (layout, &w, &h);
      cairo_move_to (cr, card->x + 12, card->y + floor ((card->height - h) / 2) + 2);
      studio_color_set (&theme->error, cr);
      pango_cairo_show_layout (cr, layout);
    }
}

void
studio_draw_lost_wire (cairo_t *cr, const StudioCurve *curve, const StudioView *view, const StudioTheme *theme)
{
  double x, y;

  cairo_save (cr);
  studio_color_set (&theme->error, cr);
  cairo_set_line_width (cr, 2);
  set_dash (cr);
  studio_curve_path (cr, curve, view);
  cairo_stroke (cr);
  cairo_set_dash (cr, NULL, 0, 0);
  studio_curve_at (curve, 0.5, &x, &y);
  studio_view_to_screen (view, x, y, &x, &y);
  cairo_move_to (cr, x - 5, y - 5);
  cairo_line_to (cr, x + 5, y + 5);
  cairo_move_to (cr, x - 5, y + 5);
  cairo_line_to (cr, x + 5, y - 5);
  cairo_stroke (cr);
  cairo_restore (cr);
}
