/* Draws a card: border, bar, icon, name, summary, ports, and the fault below.
 *
 * The canvas rasterises the frame once per appearance and zoom and draws the text over it; a file gets both at once. */
#include "ui/drawing/draw-card.h"

#include <glib/gi18n.h>
#include <math.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-fault.h"
#include "ui/drawing/draw-figure.h"

static void
box_path (cairo_t *cr, double x, double y, double width, double height, double radius)
{
  double r = MIN (radius, MIN (width, height) / 2);

  cairo_new_sub_path (cr);
  cairo_arc (cr, x + width - r, y + r, r, -G_PI / 2, 0);
  cairo_arc (cr, x + width - r, y + height - r, r, 0, G_PI / 2);
  cairo_arc (cr, x + r, y + height - r, r, G_PI / 2, G_PI);
  cairo_arc (cr, x + r, y + r, r, G_PI, 3 * G_PI / 2);
  cairo_close_path (cr);
}

void
studio_draw_box (cairo_t *cr, double x, double y, double width, double height, double radius, const StudioColor *fill,
                 double line, const StudioColor *border)
{
  if (fill != NULL)
    {
      box_path (cr, x, y, width, height, radius);
      studio_color_set (fill, cr);
      cairo_fill (cr);
    }
  if (border != NULL)
    {
      box_path (cr, x + line / 2, y + line / 2, width - line, height - line, MAX (radius - line / 2, 0));
      cairo_set_line_width (cr, line);
      studio_color_set (border, cr);
      cairo_stroke (cr);
    }
}

/* ---- the frame ---------------------------------------------------------- */

gboolean
studio_item_blames (const StudioItem *item, const StudioPort *port, gboolean is_output)
{
  return studio_item_tone (item) == STUDIO_TONE_ERROR && !is_output && g_strcmp0 (item->fault_port, port->name) == 0;
}

const StudioColor *
studio_port_color (const StudioItem *item, const StudioPort *port, gboolean is_output, const StudioTheme *theme)
{
  return studio_item_blames (item, port, is_output) ? &theme->error
         : port->typed                              ? &theme->dtype[port->type.dtype]
                                                    : &theme->untyped;
}

/* A port's dot, centred on (0, 0): hollow if nothing is wired, so that a missing wire does not depend on colour. */
static void
draw_port (cairo_t *cr, double radius, gboolean wired, const StudioColor *color, const StudioColor *hollow,
           const StudioColor *border)
{
  studio_draw_box (cr, -radius, -radius, 2 * radius, 2 * radius, radius, wired ? color : hollow, 2, border);
}

static void
draw_ports (cairo_t *cr, const StudioItem *item, gboolean is_output, const StudioTheme *theme)
{
  for (guint p = 0; p < (is_output ? item->n_outputs : item->n_inputs); p++)
    {
      const StudioPort *port = is_output ? &item->output[p] : &item->input[p];
      const StudioColor *color = studio_port_color (item, port, is_output, theme);
      double x, y;

      studio_geometry_port (item, is_output, p, &x, &y);
      cairo_save (cr);
      cairo_translate (cr, x - item->x, y - item->y);
      draw_port (cr, STUDIO_PORT_RADIUS, port->n_links > 0, color, &theme->card, color);
      cairo_restore (cr);
    }
}

static void
draw_icon (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, const StudioFrameStyle *look)
{
  const char *name = item->op != NULL ? item->op->icon : item->is_module ? "view-grid-symbolic" : NULL;
  const StudioColor *color = studio_theme_category (theme, item);

  if (name == NULL || look->icon == NULL || !look->icon (cr, name, color, look->icon_data))
    studio_draw_box (cr, 2, 2, 12, 12, 3, NULL, 2, color);
}

/* A data set without data has its icon, larger. */
static void
draw_figure (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, const StudioFrameStyle *look)
{
  StudioRect room = studio_geometry_figure (item);
  StudioFrameStyle large = *look;

  if (room.height <= 0)
    return;
  room.x -= item->x;
  room.y -= item->y;
  if (item->figure != NULL)
    {
      studio_draw_figure (cr, item->figure, &room, theme, studio_theme_category (theme, item));
      return;
    }
  cairo_save (cr);
  cairo_translate (cr, room.x + room.width / 2 - 16, room.y + room.height / 2 - 16);
  cairo_scale (cr, 2, 2);
  draw_icon (cr, item, theme, &large);
  cairo_restore (cr);
}

/* Red for errors. A card that waits for another card or for a wire, or is muted, has a dashed border. */
static void
draw_border (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, gboolean selected)
{
  StudioTone tone = studio_item_tone (item);
  gboolean fault = tone == STUDIO_TONE_ERROR;
  gboolean broken = !selected && (item->waits_for != NULL || item->muted || tone == STUDIO_TONE_TODO);
  const double dash[] = { 5, 3 };

  cairo_save (cr);
  if (broken)
    cairo_set_dash (cr, dash, G_N_ELEMENTS (dash), 0);
  studio_draw_box (cr, 0, 0, item->width, item->height, STUDIO_CARD_RADIUS, NULL, fault || selected ? 2 : 1,
                   fault      ? &theme->error
                   : selected ? &theme->accent
                   : broken   ? &theme->dim
                              : &theme->border);
  if (fault && selected)
    studio_draw_box (cr, 2, 2, item->width - 4, item->height - 4, STUDIO_CARD_RADIUS - 2, NULL, 2, &theme->accent);
  cairo_restore (cr);
}

void
studio_draw_chevron (cairo_t *cr, double x, double y, gboolean up, const StudioColor *color)
{
  const double tip = up ? -2 : 2;

  cairo_save (cr);
  studio_color_set (color, cr);
  cairo_set_line_width (cr, 1.6);
  cairo_move_to (cr, x - 4, y - tip);
  cairo_line_to (cr, x, y + tip);
  cairo_line_to (cr, x + 4, y - tip);
  cairo_stroke (cr);
  cairo_restore (cr);
}

#define STUDIO_PART      5.0 /* height of the band of a stage or device */
#define STUDIO_PART_HIGH 7.0
#define PIECES           4 /* segments of the bar of a card whose weights are sharded */
#define PIECE_GAP        4.0

static void
draw_bar (cairo_t *cr, const StudioItem *item)
{
  const int n = item->split != NULL ? PIECES : 1;
  const double length = (item->height + PIECE_GAP) / n;

  for (int i = 0; i < n; i++)
    cairo_rectangle (cr, 0, i * length, n > 1 ? 6 : 4, n > 1 ? length - PIECE_GAP : item->height);
  cairo_fill (cr);
}

void
studio_draw_card_frame (cairo_t *cr, const StudioItem *item, const StudioTheme *theme, StudioCardHead head,
                        const StudioFrameStyle *look)
{
  StudioColor tint = *studio_theme_category (theme, item);

  cairo_save (cr);
  box_path (cr, 0, 0, item->width, item->height, STUDIO_CARD_RADIUS);
  cairo_clip (cr);
  studio_color_set (&theme->card, cr);
  cairo_paint (cr);
  studio_color_set (studio_theme_category (theme, item), cr);
  draw_bar (cr, item);
  /* Names are readable on it, and even at the lowest zoom the colour shows the category. */
  tint.alpha = (theme->high_contrast ? 0.12f
                : theme->dark        ? 0.30f
                                     : 0.24f)
               * (item->waits_for != NULL || item->muted ? 0.4f : 1);
  studio_color_set (&tint, cr);
  cairo_rectangle (cr, 4, 0, item->width - 4, head.height);
  cairo_fill (cr);
  if (item->tint > 0)
    {
      studio_color_set (studio_theme_partition_color (theme, item), cr);
      cairo_rectangle (cr, 0, 0, item->width, theme->high_contrast ? STUDIO_PART_HIGH : STUDIO_PART);
      cairo_fill (cr);
    }
  cairo_restore (cr);
  draw_figure (cr, item, theme, look);
  /* A module is a stack of cards: a second line above shows this. */
  if (item->is_module || item->is_frame)
    {
      studio_color_set (&theme->border, cr);
      cairo_set_line_width (cr, 1.2);
      cairo_move_to (cr, 10, -3);
      cairo_line_to (cr, item->width - 10, -3);
      cairo_stroke (cr);
    }
  draw_border (cr, item, theme, look->selected);
  cairo_save (cr);
  cairo_translate (cr, 14, head.icon_y);
  draw_icon (cr, item, theme, look);
  cairo_restore (cr);
  if (item->folded || item->is_frame)
    studio_draw_chevron (cr, item->width - 17, item->is_frame ? head.icon_y + 8 : item->height / 2, FALSE, &theme->dim);
  if (item->fault != NULL && item->fault_place == STUDIO_FAULT_AS_SIGN)
    studio_draw_sign (cr, item->width - 9, 1, 16, studio_item_tone (item), theme);
  if (look->ports)
    {
      draw_ports (cr, item, FALSE, theme);
      draw_ports (cr, item, TRUE, theme);
    }
}

void
studio_draw_frozen (cairo_t *cr, const StudioColor *color)
{
  double r = STUDIO_FROZEN_SIZE / 2;

  cairo_save (cr);
  cairo_translate (cr, r, r);
  studio_color_set (color, cr);
  cairo_set_line_width (cr, 1.1);
  for (int arm = 0; arm < 6; arm++)
    {
      cairo_move_to (cr, 0, 0);
      cairo_line_to (cr, 0, 0.5 - r);
      cairo_move_to (cr, -2, 1.2 - r);
      cairo_line_to (cr, 0, 3.2 - r);
      cairo_line_to (cr, 2, 1.2 - r);
      cairo_rotate (cr, G_PI / 3);
    }
  cairo_stroke (cr);
  cairo_restore (cr);
}

/* ---- texts -------------------------------------------------------------- */

static PangoLayout *
text_new (PangoContext *context, const char *text, double scale, int weight, double width, int lines)
{
  PangoLayout *layout = pango_layout_new (context);
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_layout_set_text (layout, text, -1);
  if (scale != 1)
    pango_attr_list_insert (attributes, pango_attr_scale_new (scale));
  if (weight != PANGO_WEIGHT_NORMAL)
    pango_attr_list_insert (attributes, pango_attr_weight_new (weight));
  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  if (width > 0)
    {
      pango_layout_set_width (layout, width * PANGO_SCALE);
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
    }
  if (lines > 1)
    {
      pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
      pango_layout_set_height (layout, -lines);
    }
  return layout;
}

double
studio_text_enlargement (PangoContext *context)
{
  const PangoFontDescription *font = pango_context_get_font_description (context);
  double size = pango_font_description_get_size (font) / (double)PANGO_SCALE;
  double dpi = pango_cairo_context_get_resolution (context);

  if (!pango_font_description_get_size_is_absolute (font))
    size *= (dpi > 0 ? dpi : 96) / 72;
  return MAX (size / STUDIO_USUAL_TEXT, 1);
}

/* The layout of an enlarged name: at the largest scale at which it fits, but at least at the usual scale, at which it
 * may be cut. larger: the factor of the usual size, for any context; height 0: a single line. */
static PangoLayout *
fitted_text_new (PangoContext *context, const char *text, double scale, double larger, int weight, double width,
                 double height)
{
  double own = studio_text_enlargement (context), least = scale / own;

  for (double s = scale * larger / own;; s = MAX (s * 0.9, least))
    {
      PangoLayout *layout = text_new (context, text, s, weight, width, height > 0 ? 3 : 1);
      int h;

      pango_layout_get_pixel_size (layout, NULL, &h);
      if (s <= least || (!pango_layout_is_ellipsized (layout) && (height <= 0 || h <= height)))
        return layout;
      g_object_unref (layout);
    }
}

#define FAULT_SCALE 0.86
#define FAULT_LINE  16.0 /* pixels at the scale of the usual font */

/* The same for a fault's sentence, which ends with advice. */
static PangoLayout *
fault_text_new (PangoContext *context, const char *text, double width, double height)
{
  double larger = studio_text_enlargement (context), least = FAULT_SCALE / larger;

  for (double s = FAULT_SCALE;; s = MAX (s * 0.9, least))
    {
      int lines = (int)(height / (FAULT_LINE * s / FAULT_SCALE * larger));
      PangoLayout *layout = text_new (context, text, s, PANGO_WEIGHT_NORMAL, width, MAX (lines, 1));

      if (s <= least || (lines > 0 && !pango_layout_is_ellipsized (layout)))
        return layout;
      g_object_unref (layout);
    }
}

PangoLayout *
studio_small_text_new (PangoContext *context, const char *text)
{
  return text_new (context, text, STUDIO_SMALL_TEXT, PANGO_WEIGHT_NORMAL, 0, 1);
}

/* A live value is more important than other text, so it is as large as the space below the name permits. */
static double
live_scale (const StudioItem *item)
{
  return item->height - item->figure_height > STUDIO_CARD_HEIGHT ? 1.35 : 1;
}

/* The x at which the text of the first row ends. */
static double
right_end (const StudioItem *item)
{
  return item->width - 14 - (item->folded || item->is_frame ? 14 : 0);
}

/* "×4 stage 1 column": the text at the right of the name; NULL: none. */
static char *
badge_text (const StudioItem *item)
{
  g_autofree char *stage = item->in_stage && item->tint > 0 ? g_strdup_printf (_ ("stage %s"), item->mark) : NULL;
  const char *words[5] = { NULL };
  guint n = 0;

  if (item->repeat != NULL)
    words[n++] = item->repeat;
  if (item->badge != NULL)
    words[n++] = item->badge;
  if (stage != NULL)
    words[n++] = stage;
  if (item->split != NULL)
    words[n++] = item->split;
  return n > 0 ? g_strjoinv (" ", (char **)words) : NULL;
}

StudioCardTexts *
studio_card_texts_new (PangoContext *context, const StudioItem *item, const char *live, double larger)
{
  StudioCardTexts *t = g_new0 (StudioCardTexts, 1);
  double room = right_end (item) - 34;
  g_autofree char *waits = item->waits_for != NULL ? g_strdup_printf (_ ("waits for %s"), item->waits_for) : NULL;

  t->live = live != NULL;
  g_autofree char *text = badge_text (item);
  if (text != NULL)
    {
      int w;

      t->badge = text_new (context, text, 0.82 * larger / studio_text_enlargement (context), PANGO_WEIGHT_NORMAL, 0, 1);
      pango_layout_get_pixel_size (t->badge, &w, NULL);
      room -= w + 6;
    }
  if (item->frozen)
    room -= STUDIO_FROZEN_SIZE + 6;
  t->name = fitted_text_new (context, item->title, 1, larger, PANGO_WEIGHT_SEMIBOLD, MAX (room, 24), 0);
  t->summary = fitted_text_new (context,
                                live != NULL               ? live
                                : item->muted              ? _ ("muted")
                                : waits != NULL            ? waits
                                : item->summary[0] != '\0' ? item->summary
                                                           : studio_item_title (item),
                                live != NULL ? live_scale (item) : 0.86, larger,
                                live != NULL ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL, item->width - 14 - 12, 0);
  if (item->figure != NULL && item->figure->label != NULL && item->figure_height > 0)
    {
      StudioRect place = studio_geometry_figure (item);
      double used = studio_figure_width (item->figure, &place);

      t->figure = fitted_text_new (context, item->figure->label, 0.86, larger, PANGO_WEIGHT_NORMAL,
                                   MAX (place.width - used - (used > 0 ? 10 : 0), 8), place.height);
    }
  if (studio_geometry_fault (item).height > 0)
    {
      StudioRect r = studio_geometry_fault (item);

      t->fault = fault_text_new (context, item->fault, r.width - 34, r.height - 12 - (item->fix != NULL ? 32 : 0));
      if (item->fix != NULL)
        {
          t->fix = text_new (context, item->fix, 0.9, PANGO_WEIGHT_SEMIBOLD, r.width - 28, 1);
          pango_layout_set_alignment (t->fix, PANGO_ALIGN_CENTER);
        }
    }
  return t;
}

void
studio_card_texts_free (StudioCardTexts *t)
{
  if (t == NULL)
    return;
  g_clear_object (&t->name);
  g_clear_object (&t->summary);
  g_clear_object (&t->badge);
  g_clear_object (&t->figure);
  g_clear_object (&t->fault);
  g_clear_object (&t->fix);
  g_free (t);
}

/* The top of the name, and its height: name and summary are in the middle of the smallest card, and at the top of
 * higher ones. */
static double
text_top (const StudioCardTexts *t, const StudioItem *item, int *name_height)
{
  int h1, h2;

  pango_layout_get_pixel_size (t->name, NULL, &h1);
  if (item->folded)
    {
      if (name_height != NULL)
        *name_height = h1;
      return floor ((item->height - h1) / 2);
    }
  pango_layout_get_pixel_size (t->summary, NULL, &h2);
  /* The name does not move when a value appears. */
  h2 = MIN (h2, (int)(0.9 * h1));
  if (name_height != NULL)
    *name_height = h1;
  return floor ((STUDIO_CARD_HEIGHT - h1 - h2 - 3) / 2);
}

StudioCardHead
studio_card_texts_head (const StudioCardTexts *t, const StudioItem *item)
{
  int h;
  double y = text_top (t, item, &h);

  return (StudioCardHead){ y + floor ((h - 16) / 2.0), item->folded ? item->height : MAX (y, 0) + h + 2 };
}

static void
put_figure_label (const StudioCardTexts *t, const StudioItem *item, const StudioTheme *theme, StudioPutText put,
                  gpointer data)
{
  StudioRect room = studio_geometry_figure (item);
  double used = studio_figure_width (item->figure, &room);
  int h;

  pango_layout_get_pixel_size (t->figure, NULL, &h);
  put (t->figure, room.x - item->x + used + (used > 0 ? 10 : 0), room.y - item->y + floor ((room.height - h) / 2),
       &theme->text, data);
}

void
studio_card_texts_put (const StudioCardTexts *t, const StudioItem *item, const StudioTheme *theme, StudioPutText put,
                       gpointer data)
{
  int h;
  double y = text_top (t, item, &h);

  put (t->name, 36, y, item->waits_for != NULL || item->muted ? &theme->dim : &theme->text, data);
  if (t->badge != NULL)
    {
      int badge_width, badge_height;

      pango_layout_get_pixel_size (t->badge, &badge_width, &badge_height);
      put (t->badge, right_end (item) - badge_width, y + (h - badge_height) / 2.0,
           item->is_device_missing ? &theme->advice
           : item->badge != NULL   ? &theme->accent
                                   : &theme->dim,
           data);
    }
  if (item->folded)
    return;
  put (t->summary, 14, y + h + 3, t->live ? &theme->text : &theme->dim, data);
  if (t->figure != NULL && item->figure != NULL)
    put_figure_label (t, item, theme, put, data);
}

void
studio_card_texts_frozen_at (const StudioCardTexts *t, const StudioItem *item, double *x, double *y)
{
  int h, badge = -6;

  *y = text_top (t, item, &h) + floor ((h - STUDIO_FROZEN_SIZE) / 2);
  if (t->badge != NULL)
    pango_layout_get_pixel_size (t->badge, &badge, NULL);
  *x = right_end (item) - (badge + 6) - STUDIO_FROZEN_SIZE;
}
