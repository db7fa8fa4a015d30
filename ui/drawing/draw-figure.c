/* Draws the figures of cards: curves, contents of modules, images and points. */
#include "ui/drawing/draw-figure.h"

#include <math.h>

#include "ui/drawing/draw-card.h"

static StudioColor
with_alpha (const StudioColor *color, float alpha)
{
  StudioColor c = *color;

  c.alpha = alpha;
  return c;
}

/* ---- curves and points ---------------------------------------------------- */

typedef struct
{
  double x0, y0, x_scale, y_scale, bottom, left;
} Axes;

/* Converts coordinates to positions in the rectangle; an empty range is in the middle. */
static Axes
axes_of (const StudioFigure *f, const StudioRect *room, double margin, gboolean equal)
{
  double w = MAX (f->x1 - f->x0, 1e-9), h = MAX (f->y1 - f->y0, 1e-9);
  Axes a = { f->x0,
             f->y0,
             (room->width - 2 * margin) / w,
             (room->height - 2 * margin) / h,
             room->y + room->height - margin,
             room->x + margin };

  if (equal)
    a.x_scale = a.y_scale = MIN (a.x_scale, a.y_scale);
  return a;
}

static double
place_x (const Axes *a, double x)
{
  return a->left + (x - a->x0) * a->x_scale;
}

static double
place_y (const Axes *a, double y)
{
  return a->bottom - (y - a->y0) * a->y_scale;
}

static void
draw_curve (cairo_t *cr, const StudioFigure *f, const StudioRect *room, const StudioTheme *theme,
            const StudioColor *color)
{
  StudioFigure shown = *f;
  Axes a;

  /* The range includes zero, and a constant is a line in the middle. */
  shown.y0 = MIN (f->y0, 0);
  shown.y1 = MAX (f->y1, shown.y0 + 1);
  a = axes_of (&shown, room, 3, FALSE);
  studio_color_set (&theme->border, cr);
  cairo_set_line_width (cr, 1);
  cairo_move_to (cr, room->x, floor (place_y (&a, 0)) + 0.5);
  cairo_rel_line_to (cr, room->width, 0);
  cairo_move_to (cr, floor (place_x (&a, 0)) + 0.5, room->y);
  cairo_rel_line_to (cr, 0, room->height);
  cairo_stroke (cr);
  for (guint i = 0; i < f->n_points; i++)
    cairo_line_to (cr, place_x (&a, f->point[i].x), place_y (&a, f->point[i].y));
  studio_color_set (color, cr);
  cairo_set_line_width (cr, 2);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke (cr);
}

/* Colours of groups also differ in lightness. */
static const StudioColor *
group_color (const StudioTheme *theme, int group)
{
  static const LoomCategory of[]
      = { LOOM_CATEGORY_DATA, LOOM_CATEGORY_LOSS, LOOM_CATEGORY_LAYERS, LOOM_CATEGORY_MATHS };

  return &theme->category[of[(guint)group % G_N_ELEMENTS (of)]];
}

static void
draw_points (cairo_t *cr, const StudioFigure *f, const StudioRect *room, const StudioTheme *theme)
{
  StudioRect box = { room->x, room->y, studio_figure_width (f, room), room->height };
  Axes a = axes_of (f, &box, 3, FALSE);

  for (guint i = 0; i < f->n_points; i++)
    {
      const StudioFigurePoint *p = &f->point[i];

      /* The second of two classes has hollow points. */
      studio_color_set (group_color (theme, p->group), cr);
      cairo_new_sub_path (cr);
      cairo_arc (cr, place_x (&a, p->x), place_y (&a, p->y), p->group % 2 ? 1.1 : 1.4, 0, 2 * G_PI);
      if (p->group % 2)
        {
          cairo_set_line_width (cr, 0.8);
          cairo_stroke (cr);
        }
      else
        cairo_fill (cr);
    }
}

/* ---- the inside of a module ------------------------------------------------ */

static void
draw_inside (cairo_t *cr, const StudioFigure *f, const StudioRect *room, const StudioTheme *theme)
{
  double width = MIN (room->width, room->height * f->aspect), height = width / f->aspect;
  double x = room->x + (room->width - width) / 2, y;

  /* A single row would be too thin, so it is drawn higher. */
  height = MIN (MAX (height, room->height / 3), room->height);
  y = room->y + (room->height - height) / 2;
  studio_color_set (&theme->dim, cr);
  cairo_set_line_width (cr, 1);
  for (guint i = 0; i < f->n_lines; i++)
    {
      cairo_move_to (cr, x + f->line[2 * i].x * width, y + f->line[2 * i].y * height);
      cairo_line_to (cr, x + f->line[2 * i + 1].x * width, y + f->line[2 * i + 1].y * height);
    }
  cairo_stroke (cr);
  for (guint i = 0; i < f->n_boxes; i++)
    {
      const StudioFigureBox *b = &f->box[i];
      StudioColor fill = theme->category[b->category];

      studio_draw_box (cr, x + b->x * width, y + b->y * height, MAX (b->width * width, 4), MAX (b->height * height, 4),
                       2, &theme->card, 0, NULL);
      fill.alpha = 0.75f;
      studio_draw_box (cr, x + b->x * width, y + b->y * height, MAX (b->width * width, 4), MAX (b->height * height, 4),
                       2, &fill, 0, NULL);
    }
}

/* ---- images --------------------------------------------------------------- */

static cairo_surface_t *
surface_of (const StudioFigure *f)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int)f->width, (int)f->height);
  guint8 *data = cairo_image_surface_get_data (surface);
  int stride = cairo_image_surface_get_stride (surface);

  cairo_surface_flush (surface);
  for (guint y = 0; y < f->height; y++)
    for (guint x = 0; x < f->width; x++)
      {
        const guint8 *p = f->pixels + 3 * (y * f->width + x);

        ((guint32 *)(gpointer)(data + y * stride))[x] = (guint32)p[0] << 16 | (guint32)p[1] << 8 | p[2];
      }
  cairo_surface_mark_dirty (surface);
  return surface;
}

static void
draw_image (cairo_t *cr, const StudioFigure *f, const StudioRect *room, const StudioTheme *theme)
{
  double width = studio_figure_width (f, room), scale = width / f->width;
  double height = MIN (f->height * scale, room->height);
  double y = room->y + (room->height - height) / 2;
  cairo_surface_t *surface = surface_of (f);

  cairo_save (cr);
  cairo_rectangle (cr, room->x, y, width, height);
  cairo_clip (cr);
  cairo_translate (cr, room->x, y);
  cairo_scale (cr, scale, height / f->height);
  cairo_set_source_surface (cr, surface, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_restore (cr);
  studio_draw_box (cr, room->x - 0.5, y - 0.5, width + 1, height + 1, 2, NULL, 1, &theme->border);
  cairo_surface_destroy (surface);
}

/* ---- doors ---------------------------------------------------------------- */

double
studio_figure_width (const StudioFigure *figure, const StudioRect *room)
{
  switch (figure->kind)
    {
    case STUDIO_FIGURE_IMAGE:
      return MIN (room->height * figure->width / MAX (figure->height, 1), room->width);
    case STUDIO_FIGURE_POINTS:
      return figure->n_groups > 0 ? MIN (room->height * 1.5, room->width) : room->width;
    case STUDIO_FIGURE_WORDS:
      return 0;
    case STUDIO_FIGURE_CURVE:
    case STUDIO_FIGURE_INSIDE:
      break;
    }
  return room->width;
}

void
studio_draw_figure (cairo_t *cr, const StudioFigure *figure, const StudioRect *room, const StudioTheme *theme,
                    const StudioColor *color)
{
  StudioColor ground = with_alpha (&theme->text, theme->high_contrast ? 0 : 0.045f);

  cairo_save (cr);
  if (figure->kind != STUDIO_FIGURE_IMAGE)
    studio_draw_box (cr, room->x - 4, room->y, room->width + 8, room->height + 2, 5, &ground, 0, NULL);
  switch (figure->kind)
    {
    case STUDIO_FIGURE_CURVE:
      draw_curve (cr, figure, room, theme, color);
      break;
    case STUDIO_FIGURE_INSIDE:
      draw_inside (cr, figure, room, theme);
      break;
    case STUDIO_FIGURE_IMAGE:
      draw_image (cr, figure, room, theme);
      break;
    case STUDIO_FIGURE_POINTS:
      draw_points (cr, figure, room, theme);
      break;
    case STUDIO_FIGURE_WORDS:
      break;
    }
  cairo_restore (cr);
}
