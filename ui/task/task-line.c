/* Draws samples with one feature, and the curve of the predictions. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/scene/studio-format.h"
#include "ui/task/task-private.h"

#define PLACES_A_CELL 3 /* positions on the curve per side of a grid's cell */
#define RADIUS        3

/* The number on the vertical axis: y, or the class if there are two. */
static double
height_of (const StudioTaskData *data, guint sample)
{
  return data->y_size > 0 ? data->y[(gsize)sample * data->y_size] : 0;
}

static void
range_of (const StudioTaskData *data, double *x0, double *x1, double *y0, double *y1)
{
  *x0 = *y0 = INFINITY;
  *x1 = *y1 = -INFINITY;
  for (guint i = 0; i < data->n; i++)
    {
      *x0 = MIN (*x0, data->x[i]);
      *x1 = MAX (*x1, data->x[i]);
      *y0 = MIN (*y0, height_of (data, i));
      *y1 = MAX (*y1, height_of (data, i));
    }
  double wide = MAX ((*x1 - *x0) * 0.05, 1e-6), high = MAX ((*y1 - *y0) * 0.15, 1e-6);
  *x0 -= wide;
  *x1 += wide;
  *y0 -= high;
  *y1 += high;
}

static gsize
line_n_grid (const StudioTaskPicture *picture, guint grid)
{
  return (gsize)grid * PLACES_A_CELL;
}

static void
line_fill_grid (const StudioTaskPicture *picture, float *x)
{
  const gsize n = line_n_grid (picture, picture->grid);
  double x0, x1, y0, y1;

  range_of (picture->data, &x0, &x1, &y0, &y1);
  for (gsize i = 0; i < n; i++)
    x[i] = (float)(x0 + (double)i / (double)(n - 1) * (x1 - x0));
}

static double
answer_height (const StudioTaskPicture *picture, const float *answer)
{
  return picture->data->classes ? task_probability (picture, answer, 1) : answer[0];
}

static TaskAxes
axes_of (const TaskDrawing *d)
{
  double x0, x1, y0, y1;

  range_of (d->picture->data, &x0, &x1, &y0, &y1);
  return task_axes_new (d, x0, x1, y0, y1, FALSE);
}

static void
draw_curve (const TaskDrawing *d, const TaskAxes *axes)
{
  const gsize n = task_n_grid (d->picture);

  if (!d->picture->answered)
    return;
  cairo_save (d->cr);
  cairo_rectangle (d->cr, axes->box.x, axes->box.y, axes->box.width, axes->box.height);
  cairo_clip (d->cr);
  for (gsize i = 0; i < n; i++)
    {
      double x = axes->x0 + (double)i / (double)(n - 1) * (axes->x1 - axes->x0);
      double y = answer_height (d->picture, task_answer (d->picture, i));
      /* Cairo uses fixed-point numbers: a curve far outside would reappear on the other side. */
      double far = axes->y1 - axes->y0;
      if (isfinite (y))
        cairo_line_to (d->cr, task_axes_x (axes, x), task_axes_y (axes, CLAMP (y, axes->y0 - far, axes->y1 + far)));
    }
  StudioColor color = task_class_color (d, 1);
  studio_color_set (&color, d->cr);
  cairo_set_line_width (d->cr, 2.5 * d->scale);
  cairo_set_line_join (d->cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke (d->cr);
  cairo_restore (d->cr);
}

static void
line_draw (const TaskDrawing *d)
{
  const StudioTaskData *data = d->picture->data;
  const TaskAxes axes = axes_of (d);
  g_autofree char *name = task_feature_name (data, 0);

  task_axes_draw (d, &axes, name, "y");
  for (guint i = 0; i < data->n; i++)
    task_marker (d, task_axes_x (&axes, data->x[i]), task_axes_y (&axes, height_of (data, i)), RADIUS * d->scale,
                 data->classes ? (guint)MAX (height_of (data, i), 0) : 0);
  draw_curve (d, &axes);
  if (d->picture->marked >= 0)
    {
      const guint i = (guint)d->picture->marked;
      task_ring (d, task_axes_x (&axes, data->x[i]), task_axes_y (&axes, height_of (data, i)), RADIUS * d->scale);
    }
}

static int
line_sample_at (const TaskDrawing *d, double x, double y)
{
  const StudioTaskData *data = d->picture->data;
  const TaskAxes axes = axes_of (d);
  double nearest = 10 * d->scale;
  int found = -1;

  for (guint i = 0; i < data->n; i++)
    {
      double far = hypot (task_axes_x (&axes, data->x[i]) - x, task_axes_y (&axes, height_of (data, i)) - y);
      if (far < nearest)
        {
          nearest = far;
          found = (int)i;
        }
    }
  return found;
}

static char *
line_describe_place (const TaskDrawing *d, double x, double y)
{
  const StudioTaskPicture *p = d->picture;
  const TaskAxes axes = axes_of (d);
  const double u = (x - axes.box.x) / axes.box.width;

  if (!p->answered || u < 0 || u > 1)
    return NULL;
  const gsize n = task_n_grid (p);
  g_autofree char *at = studio_format_number (axes.x0 + u * (axes.x1 - axes.x0));
  g_autofree char *says = studio_format_number (answer_height (p, task_answer (p, (gsize)(u * (double)(n - 1)))));
  return g_strdup_printf (_ ("x %1$s: predicted %2$s"), at, says);
}

static char *
line_describe_sample (const StudioTaskPicture *picture, guint sample)
{
  g_autofree char *at = studio_format_number (picture->data->x[sample]);
  g_autofree char *words = task_sample_text (picture, sample);

  return g_strdup_printf ("x %s: %s", at, words);
}

static double
line_height (const StudioTaskPicture *picture, double width, double scale)
{
  return width * 0.8;
}

const TaskKind task_line = {
  .words = N_ ("points and the fitted curve"),
  .n_samples = 300,
  .spread = TRUE,
  .opens = TRUE,
  .height = line_height,
  .draw = line_draw,
  .sample_at = line_sample_at,
  .n_grid = line_n_grid,
  .fill_grid = line_fill_grid,
  .describe_place = line_describe_place,
  .describe_sample = line_describe_sample,
};
