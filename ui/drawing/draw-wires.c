/* Draws wires, with one line style per type, and the shape labels on them. */
#include "ui/drawing/draw-wires.h"

#include <math.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"

void
studio_curve_path (cairo_t *cr, const StudioCurve *c, const StudioView *view)
{
  double x[4], y[4];

  for (int i = 0; i < 4; i++)
    studio_view_to_screen (view, c->x[i], c->y[i], &x[i], &y[i]);
  cairo_move_to (cr, x[0], y[0]);
  cairo_curve_to (cr, x[1], y[1], x[2], y[2], x[3], y[3]);
}

void
studio_route_path (cairo_t *cr, const StudioRoute *route, const StudioView *view)
{
  double x[4], y[4];

  for (guint k = 0; k < route->n_pieces; k++)
    {
      const StudioCurve *c = &route->piece[k];

      for (int i = 0; i < 4; i++)
        studio_view_to_screen (view, c->x[i], c->y[i], &x[i], &y[i]);
      if (k == 0)
        cairo_move_to (cr, x[0], y[0]);
      if (studio_curve_is_straight (c))
        cairo_line_to (cr, x[3], y[3]);
      else
        cairo_curve_to (cr, x[1], y[1], x[2], y[2], x[3], y[3]);
    }
}

/* A wire between cards outside of the spotlight is as dark as they are; a wire with one such end is half as dark. */
static StudioColor
lit (const StudioLink *link, const StudioColor *color)
{
  static const float light[] = { 1, 0.6f, 0.3f };
  StudioColor c = *color;

  c.alpha *= light[MIN (link->n_dark, 2)];
  return c;
}

/* Two thin lines: a wide line, with a line of the background's colour inside. */
void
studio_stroke_line (cairo_t *cr, StudioLine line, const StudioColor *color, const StudioColor *background, double width)
{
  studio_color_set (color, cr);
  if (line == STUDIO_LINE_DOUBLE)
    {
      studio_line_apply (line, cr, width * 2.2);
      cairo_stroke_preserve (cr);
      studio_color_set (background, cr);
      cairo_set_line_width (cr, width * 0.8);
      cairo_stroke (cr);
      return;
    }
  studio_line_apply (line, cr, width);
  cairo_stroke (cr);
}

static void
stroke_link (cairo_t *cr, const StudioLink *link, const StudioTheme *theme, double width, gboolean selected)
{
  StudioLine line = link->typed ? studio_dtype_line (link->type.dtype) : STUDIO_LINE_SOLID;
  StudioColor color = lit (link, selected ? &theme->accent : studio_theme_wire (theme, link));

  if (link->thickness > 0)
    width *= link->thickness;
  studio_stroke_line (cr, line, &color, &theme->background,
                      selected && line != STUDIO_LINE_DOUBLE ? width * 1.6 : width);
}

/* A mark on a wire that a card refuses, so that red is not the only sign. */
static void
fault_mark (cairo_t *cr, const StudioTheme *theme, double x, double y)
{
  cairo_new_sub_path (cr);
  cairo_arc (cr, x, y, 8, 0, 2 * G_PI);
  studio_color_set (&theme->error, cr);
  cairo_fill (cr);
  studio_color_set (&theme->background, cr);
  cairo_rectangle (cr, x - 1, y - 5, 2, 6);
  cairo_rectangle (cr, x - 1, y + 3, 2, 2);
  cairo_fill (cr);
}

/* A gate across the wire where its tensor is copied to another device, also visible without text. */
static void
copy_mark (cairo_t *cr, const StudioTheme *theme, const StudioRoute *route, const StudioView *view)
{
  double x0, y0, x1, y1, length;

  studio_route_at (route, 0.48, &x0, &y0);
  studio_route_at (route, 0.52, &x1, &y1);
  studio_view_to_screen (view, x0, y0, &x0, &y0);
  studio_view_to_screen (view, x1, y1, &x1, &y1);
  length = hypot (x1 - x0, y1 - y0);
  if (length <= 0)
    return;
  cairo_save (cr);
  cairo_translate (cr, (x0 + x1) / 2, (y0 + y1) / 2);
  cairo_rotate (cr, atan2 (y1 - y0, x1 - x0));
  studio_color_set (&theme->background, cr);
  cairo_rectangle (cr, -3, -8, 6, 16);
  cairo_fill (cr);
  studio_color_set (&theme->accent, cr);
  cairo_rectangle (cr, -4, -8, 2, 16);
  cairo_rectangle (cr, 2, -8, 2, 16);
  cairo_fill (cr);
  cairo_restore (cr);
}

void
studio_draw_point (cairo_t *cr, const StudioPoint *point, const StudioView *view, const StudioTheme *theme,
                   const StudioColor *color, gboolean marked)
{
  double x, y, radius = MAX (2.5, 4 * MIN (view->zoom, 1.5));

  studio_view_to_screen (view, point->x, point->y, &x, &y);
  cairo_new_sub_path (cr);
  cairo_arc (cr, x, y, radius, 0, 2 * G_PI);
  studio_color_set (color, cr);
  cairo_fill (cr);
  if (!marked)
    return;
  cairo_arc (cr, x, y, radius + 3, 0, 2 * G_PI);
  studio_color_set (&theme->accent, cr);
  cairo_set_dash (cr, NULL, 0, 0);
  cairo_set_line_width (cr, 2);
  cairo_stroke (cr);
}

void
studio_draw_wires (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                   guint64 hidden, StudioIsSelected is_selected, gpointer data)
{
  StudioRect seen = studio_view_visible (view);
  double width = MAX (1.2, 2 * MIN (view->zoom, 2));
  const StudioRoute *route = studio_scene_routes (scene);

  cairo_save (cr); /* resets the dash pattern of the last wire */
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < scene->n_links; i++)
      {
        const StudioLink *link = &scene->link[i];
        gboolean selected = is_selected != NULL && is_selected (link->serial, data);
        StudioRect bounds;

        /* Selected wires last, on top. */
        if (link->serial == hidden || selected != (pass == 1))
          continue;
        bounds = route[i].bounds;
        bounds.width += 4;
        bounds.height += 4;
        if (!studio_rect_intersects (&bounds, &seen))
          continue;
        studio_route_path (cr, &route[i], view);
        stroke_link (cr, link, theme, width, selected);
        for (guint k = 0; k < link->n_points; k++)
          studio_draw_point (cr, &link->point[k], view, theme,
                             selected ? &theme->accent : studio_theme_wire (theme, link), FALSE);
        if (link->copy != NULL)
          copy_mark (cr, theme, &route[i], view);
        if (link->fault && view->zoom >= STUDIO_ZOOM_SHAPE_LABELS)
          {
            double x, y, sx, sy;

            studio_route_at (&route[i], 0.8, &x, &y);
            studio_view_to_screen (view, x, y, &sx, &sy);
            fault_mark (cr, theme, sx, sy);
          }
      }
  cairo_restore (cr);
}

static PangoLayout *
shape_label_text (const char *text, PangoContext *context, GHashTable *layouts)
{
  PangoLayout *layout = g_hash_table_lookup (layouts, text);

  if (layout == NULL)
    {
      layout = studio_small_text_new (context, text);
      g_hash_table_insert (layouts, g_strdup (text), layout);
    }
  return layout;
}

typedef struct
{
  PangoContext *context;
  GHashTable *layouts;
} ShapeLabelTexts;

/* The layout of a shape in one of its forms, or NULL. */
static PangoLayout *
shape_label_layout (const ShapeLabelTexts *texts, const char *label, StudioShapeLabelForm form)
{
  g_autofree char *text = studio_shape_label_text (label, form);
  PangoLayout *layout = text != NULL ? shape_label_text (text, texts->context, texts->layouts) : NULL;

  if (layout != NULL && form != STUDIO_SHAPE_LABEL_LINE)
    pango_layout_set_alignment (layout, PANGO_ALIGN_CENTER);
  return layout;
}

static gboolean
shape_label_size (const char *label, StudioShapeLabelForm form, double *width, double *height, gpointer data)
{
  PangoLayout *layout = shape_label_layout (data, label, form);
  int w, h;

  if (layout == NULL)
    return FALSE;
  pango_layout_get_pixel_size (layout, &w, &h);
  *width = w + (form == STUDIO_SHAPE_LABEL_COLUMN ? 10 : 12);
  *height = h + 4;
  return TRUE;
}

static void
draw_shape_label (cairo_t *cr, const StudioView *view, const StudioTheme *theme, const StudioLink *link,
                  const StudioShapeLabel *shape_label, const ShapeLabelTexts *texts)
{
  PangoLayout *layout = shape_label_layout (texts, link->label, shape_label->form);
  StudioColor ink = lit (link, link->fault ? &theme->error : &theme->dim), edge = lit (link, &theme->shape_label);
  double sx, sy, radius = shape_label->form == STUDIO_SHAPE_LABEL_LINE ? shape_label->rect.height / 2 : 8;
  int w, h;

  pango_layout_get_pixel_size (layout, &w, &h);
  studio_view_to_screen (view, shape_label->rect.x, shape_label->rect.y, &sx, &sy);
  cairo_save (cr);
  cairo_translate (cr, floor (sx), floor (sy));
  cairo_scale (cr, view->zoom, view->zoom);
  if (link->copy != NULL && shape_label->form != STUDIO_SHAPE_LABEL_LINE)
    radius = 8;
  studio_draw_box (cr, 0, 0, shape_label->rect.width, shape_label->rect.height, radius, &theme->background, 1, &edge);
  if (link->copy != NULL)
    {
      StudioColor tint = theme->accent;

      tint.alpha = theme->dark ? 0.22f : 0.12f;
      studio_draw_box (cr, 0, 0, shape_label->rect.width, shape_label->rect.height, radius, &tint, 1.5, &theme->accent);
    }
  cairo_move_to (cr, floor ((shape_label->rect.width - w) / 2), 2);
  studio_color_set (&ink, cr);
  pango_cairo_show_layout (cr, layout);
  cairo_restore (cr);
}

static const StudioShapeLabel *
shape_labels_of (const StudioScene *scene, ShapeLabelTexts *texts)
{
  /* The serial changes with the font and its size. */
  guint key = pango_context_get_serial (texts->context) ^ GPOINTER_TO_UINT (texts->context) ^ (guint)scene->shapes << 1;

  return studio_scene_shape_labels (scene, key, shape_label_size, texts);
}

const StudioShapeLabel *
studio_drawn_shape_labels (const StudioScene *scene, PangoContext *context, GHashTable *layouts)
{
  return shape_labels_of (scene, &(ShapeLabelTexts){ context, layouts });
}

void
studio_draw_shape_label_above (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                               guint link, double sx, double sy, gboolean always, PangoContext *context,
                               GHashTable *layouts)
{
  ShapeLabelTexts texts = { context, layouts };
  const StudioView pixels = { .zoom = 1, .width = view->width, .height = view->height };
  StudioShapeLabel shape_label = { .form = STUDIO_SHAPE_LABEL_LINE };

  if (scene->link[link].label == NULL || (!always && shape_labels_of (scene, &texts)[link].rect.width > 0))
    return;
  shape_label_size (scene->link[link].label, shape_label.form, &shape_label.rect.width, &shape_label.rect.height,
                    &texts);
  shape_label.rect.x = CLAMP (sx - shape_label.rect.width / 2, 4, MAX (4, view->width - shape_label.rect.width - 4));
  shape_label.rect.y = sy > shape_label.rect.height + 16 ? sy - shape_label.rect.height - 12 : sy + 20;
  draw_shape_label (cr, &pixels, theme, &scene->link[link], &shape_label, &texts);
}

void
studio_draw_shape_labels (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                          guint named, PangoContext *context, GHashTable *layouts)
{
  ShapeLabelTexts texts = { context, layouts };
  StudioRect seen = studio_view_visible (view);
  const StudioShapeLabel *shape_label = shape_labels_of (scene, &texts);

  for (guint i = 0; i < scene->n_links; i++)
    {
      const StudioLink *link = &scene->link[i];

      if (shape_label[i].rect.width > 0 && link->from != named && link->to != named
          && studio_rect_intersects (&shape_label[i].rect, &seen))
        draw_shape_label (cr, view, theme, link, &shape_label[i], &texts);
    }
}
