/* Drawing shared by the numeric views: axes, markers, legends, text. */
#include <math.h>

#include "ui/drawing/chart-text.h"
#include "ui/charts/studio-plot.h"
#include "ui/scene/studio-format.h"
#include "ui/task/task-private.h"

/* Okabe and Ito's colours without black; darker on a light background, as text and small marks require. */
static const struct
{
  const char *light, *dark;
} colors[] = {
  { "#0060a0", "#56b4e9" }, { "#c65300", "#f0a030" }, { "#007a5a", "#2fd0a0" }, { "#a8407c", "#e79ac6" },
  { "#7a6a00", "#f0e442" }, { "#3a3a8c", "#a8a8ff" }, { "#5e5c64", "#c0bfbc" }, { "#8c2f00", "#ff8a5c" },
};

StudioColor
task_class_color (const TaskDrawing *d, guint class)
{
  StudioColor color = { 0 };
  const guint i = class % G_N_ELEMENTS (colors);

  studio_color_parse (d->dark ? colors[i].dark : colors[i].light, &color);
  return color;
}

static void
trace_shape (cairo_t *cr, double x, double y, double r, guint shape)
{
  static const int corners[] = { 0, 4, 3, 4, 5 };
  static const double turn[] = { 0, G_PI / 4, -G_PI / 2, 0, -G_PI / 2 }, grow[] = { 1, 1.25, 1.4, 1.4, 1.3 };

  cairo_new_sub_path (cr);
  if (corners[shape] == 0)
    cairo_arc (cr, x, y, r, 0, 2 * G_PI);
  for (int k = 0; k < corners[shape]; k++)
    {
      double angle = turn[shape] + 2 * G_PI * k / corners[shape];
      cairo_line_to (cr, x + grow[shape] * r * cos (angle), y + grow[shape] * r * sin (angle));
    }
  cairo_close_path (cr);
}

void
task_marker (const TaskDrawing *d, double x, double y, double radius, guint class)
{
  StudioColor color = task_class_color (d, class);

  trace_shape (d->cr, x, y, radius, class % 5);
  studio_color_set (&color, d->cr);
  cairo_fill_preserve (d->cr);
  /* An outline in the background's colour separates points from each other and from the surface. */
  studio_color_set (&d->theme.background, d->cr);
  cairo_set_line_width (d->cr, 0.9 * d->scale);
  cairo_stroke (d->cr);
}

void
task_ring (const TaskDrawing *d, double x, double y, double radius)
{
  cairo_new_sub_path (d->cr);
  cairo_arc (d->cr, x, y, radius + 3 * d->scale, 0, 2 * G_PI);
  studio_color_set (&d->theme.text, d->cr);
  cairo_set_line_width (d->cr, 2 * d->scale);
  cairo_stroke (d->cr);
}

double
task_line_height (double scale)
{
  return 17 * scale;
}

double
task_text (const TaskDrawing *d, const char *text, double x, double y, double align, double most, gboolean dim)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale, FALSE, text);
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  if (width > most && most > 0)
    {
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
      pango_layout_set_width (layout, (int)(most * PANGO_SCALE));
      width = (int)most;
    }
  if (d->cr != NULL)
    {
      studio_color_set (dim ? &d->theme.dim : &d->theme.text, d->cr);
      cairo_move_to (d->cr, floor (x - align * width), floor (y - height / 2.));
      pango_cairo_show_layout (d->cr, layout);
    }
  return width;
}

double
task_legend (const TaskDrawing *d, double x, double y, double width)
{
  const guint n = MIN (task_n_classes (d->picture), 12);
  const double line = task_line_height (d->scale), sign = 12 * d->scale, gap = 12 * d->scale;
  double at = 0, down = line / 2;

  if (n == 0)
    return 0;
  /* The first class of pixels is the background, which is not painted. */
  for (guint c = task_is_map (d->picture) ? 1 : 0; c < n; c++)
    {
      g_autofree char *name = task_class_name (d->picture->data, c);
      TaskDrawing silent = *d;
      silent.cr = NULL;
      double long_as = sign + task_text (&silent, name, 0, 0, 0, width - sign, FALSE);
      if (at > 0 && at + long_as > width)
        {
          at = 0;
          down += line;
        }
      if (d->cr != NULL)
        {
          task_marker (d, x + at + 4 * d->scale, y + down, 4 * d->scale, c);
          task_text (d, name, x + at + sign, y + down, 0, width - sign, FALSE);
        }
      at += long_as + gap;
    }
  return down + line / 2;
}

/* ---- axes ---------------------------------------------------------------- */

TaskAxes
task_axes_new (const TaskDrawing *d, double x0, double x1, double y0, double y1, gboolean square)
{
  const double left = 30 * d->scale, below = task_line_height (d->scale);
  TaskAxes axes = {
    { d->room.x + left, d->room.y, MAX (d->room.width - left, 10), MAX (d->room.height - below, 10) }, x0, x1, y0, y1
  };

  if (square)
    {
      double side = MIN (axes.box.width, axes.box.height);
      axes.box.x += (axes.box.width - side) / 2;
      axes.box.width = axes.box.height = side;
    }
  return axes;
}

double
task_axes_x (const TaskAxes *axes, double x)
{
  return axes->box.x + (x - axes->x0) / (axes->x1 - axes->x0) * axes->box.width;
}

double
task_axes_y (const TaskAxes *axes, double y)
{
  return axes->box.y + axes->box.height - (y - axes->y0) / (axes->y1 - axes->y0) * axes->box.height;
}

void
task_axes_draw (const TaskDrawing *d, const TaskAxes *axes, const char *x_name, const char *y_name)
{
  const TaskRect *b = &axes->box;
  const double x_step = studio_plot_nice_step (axes->x0, axes->x1, 3);
  const double y_step = studio_plot_nice_step (axes->y0, axes->y1, 3), label = b->y + b->height + 9 * d->scale;

  cairo_save (d->cr);
  studio_color_set (&d->theme.border, d->cr);
  cairo_set_line_width (d->cr, 1);
  for (double v = ceil (axes->x0 / x_step) * x_step; v <= axes->x1; v += x_step)
    {
      double x = floor (task_axes_x (axes, v)) + 0.5;
      cairo_move_to (d->cr, x, b->y);
      cairo_line_to (d->cr, x, b->y + b->height);
    }
  for (double v = ceil (axes->y0 / y_step) * y_step; v <= axes->y1; v += y_step)
    {
      double y = floor (task_axes_y (axes, v)) + 0.5;
      cairo_move_to (d->cr, b->x, y);
      cairo_line_to (d->cr, b->x + b->width, y);
    }
  cairo_stroke (d->cr);
  cairo_restore (d->cr);
  double name = b->x + b->width - task_text (d, x_name, b->x + b->width, label, 1, b->width / 2, FALSE) - 6;
  for (double v = ceil (axes->x0 / x_step) * x_step; v <= axes->x1; v += x_step)
    {
      g_autofree char *text = studio_format_tick (fabs (v) < x_step / 1e6 ? 0 : v, x_step);
      if (task_axes_x (axes, v) + 10 * d->scale < name)
        task_text (d, text, task_axes_x (axes, v), label, 0.5, 0, TRUE);
    }
  task_text (d, y_name, b->x - 5 * d->scale, b->y + 6 * d->scale, 1, 30 * d->scale, FALSE);
  for (double v = ceil (axes->y0 / y_step) * y_step; v <= axes->y1; v += y_step)
    {
      g_autofree char *text = studio_format_tick (fabs (v) < y_step / 1e6 ? 0 : v, y_step);
      if (task_axes_y (axes, v) > b->y + 18 * d->scale)
        task_text (d, text, b->x - 5 * d->scale, task_axes_y (axes, v), 1, 0, TRUE);
    }
}
