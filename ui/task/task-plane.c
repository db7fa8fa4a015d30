/* Draws samples with two features over the surface of the predictions, and pairs of columns of samples with more
 * features, without a surface. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-colormap.h"
#include "ui/scene/studio-format.h"
#include "ui/task/task-private.h"

#define MARGIN  0.08 /* of the range, on each side */
#define RADIUS  3.4
#define OPACITY 0.55 /* of the surface, at probability 1 */

typedef struct
{
  double x0, x1, y0, y1;
} Range;

static void
range_of (const StudioTaskData *data, guint column, double *least, double *most)
{
  *least = INFINITY;
  *most = -INFINITY;
  for (guint i = 0; i < data->n; i++)
    {
      *least = MIN (*least, data->x[(gsize)i * data->x_size + column]);
      *most = MAX (*most, data->x[(gsize)i * data->x_size + column]);
    }
  double air = MAX ((*most - *least) * MARGIN, 1e-6);
  *least -= air;
  *most += air;
}

/* Axes with similar ranges get the same scale, so that circles are round. */
static Range
range_of_plane (const StudioTaskPicture *picture)
{
  Range r;
  range_of (picture->data, picture->column[0], &r.x0, &r.x1);
  range_of (picture->data, picture->column[1], &r.y0, &r.y1);
  double w = r.x1 - r.x0, h = r.y1 - r.y0, side = MAX (w, h);
  if (side > 3 * MIN (w, h))
    return r;
  r.x0 -= (side - w) / 2;
  r.x1 += (side - w) / 2;
  r.y0 -= (side - h) / 2;
  r.y1 += (side - h) / 2;
  return r;
}

static gsize
plane_n_grid (const StudioTaskPicture *picture, guint grid)
{
  return (gsize)grid * grid;
}

/* Positions are the centres of cells, from the upper left. */
static void
plane_fill_grid (const StudioTaskPicture *picture, float *x)
{
  const Range r = range_of_plane (picture);
  const guint n = picture->grid;

  for (guint row = 0; row < n; row++)
    for (guint column = 0; column < n; column++)
      {
        *x++ = (float)(r.x0 + (column + 0.5) / n * (r.x1 - r.x0));
        *x++ = (float)(r.y1 - (row + 0.5) / n * (r.y1 - r.y0));
      }
}

static gboolean
shows_classes (const StudioTaskPicture *picture)
{
  return picture->data->classes;
}

static void
value_range (const StudioTaskData *data, double *least, double *most)
{
  *least = INFINITY;
  *most = -INFINITY;
  for (gsize i = 0; i < (gsize)data->n * MIN (data->y_size, 1); i++)
    {
      *least = MIN (*least, data->y[i * data->y_size]);
      *most = MAX (*most, data->y[i * data->y_size]);
    }
  if (!(*most > *least))
    {
      *least = isfinite (*least) ? *least - 0.5 : 0;
      *most = *least + 1;
    }
}

/* Mixes the colours of the classes by their probabilities with the background: pale if the net is uncertain. */
static guint32
class_cell (const TaskDrawing *d, const StudioColor *color, guint n, const float *answer)
{
  double mix[3] = { 0 }, best = 0;

  for (guint c = 0; c < n; c++)
    {
      double p = task_probability (d->picture, answer, c);
      mix[0] += p * color[c].red;
      mix[1] += p * color[c].green;
      mix[2] += p * color[c].blue;
      best = MAX (best, p);
    }
  const double sure = n > 1 ? CLAMP ((best * n - 1) / (n - 1), 0, 1) : 1, alpha = OPACITY * (0.25 + 0.75 * sure);
  const float ground[] = { d->theme.background.red, d->theme.background.green, d->theme.background.blue };
  guint32 rgb = 0xff;
  for (int k = 0; k < 3; k++)
    rgb = rgb << 8 | (guint32)lround (255 * CLAMP (alpha * mix[k] + (1 - alpha) * ground[k], 0, 1));
  return rgb;
}

static void
draw_surface (const TaskDrawing *d, const TaskAxes *axes)
{
  const StudioTaskPicture *p = d->picture;
  const guint grid = p->answered_grid, n = MIN (MAX (task_n_classes (p), 2), 64);
  StudioColor color[64];
  double least = 0, most = 1;

  if (!p->answered)
    return;
  for (guint c = 0; c < n; c++)
    color[c] = task_class_color (d, c);
  value_range (p->data, &least, &most);
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int)grid, (int)grid);
  cairo_surface_flush (image);
  for (guint row = 0; row < grid; row++)
    {
      guint32 *line = (guint32 *)(void *)(cairo_image_surface_get_data (image)
                                          + (gsize)row * cairo_image_surface_get_stride (image));
      for (guint column = 0; column < grid; column++)
        {
          const float *answer = task_answer (p, (gsize)row * grid + column);
          line[column] = shows_classes (p) ? class_cell (d, color, n, answer)
                                           : studio_colormap ((answer[0] - least) / (most - least));
        }
    }
  cairo_surface_mark_dirty (image);
  cairo_save (d->cr);
  cairo_rectangle (d->cr, axes->box.x, axes->box.y, axes->box.width, axes->box.height);
  cairo_clip (d->cr);
  cairo_translate (d->cr, axes->box.x, axes->box.y);
  cairo_scale (d->cr, axes->box.width / grid, axes->box.height / grid);
  cairo_set_source_surface (d->cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (d->cr), CAIRO_FILTER_BILINEAR);
  cairo_pattern_set_extend (cairo_get_source (d->cr), CAIRO_EXTEND_PAD);
  cairo_paint (d->cr);
  cairo_restore (d->cr);
  cairo_surface_destroy (image);
}

static void
place_of (const TaskDrawing *d, const TaskAxes *axes, guint i, double *x, double *y)
{
  const float *row = d->picture->data->x + (gsize)i * d->picture->data->x_size;

  *x = task_axes_x (axes, row[d->picture->column[0]]);
  *y = task_axes_y (axes, row[d->picture->column[1]]);
}

static void
value_marker (const TaskDrawing *d, double x, double y, double t)
{
  guint32 rgb = studio_colormap (t);

  cairo_new_sub_path (d->cr);
  cairo_arc (d->cr, x, y, RADIUS * d->scale, 0, 2 * G_PI);
  cairo_set_source_rgb (d->cr, (rgb >> 16 & 255) / 255., (rgb >> 8 & 255) / 255., (rgb & 255) / 255.);
  cairo_fill_preserve (d->cr);
  studio_color_set (&d->theme.text, d->cr);
  cairo_set_line_width (d->cr, 0.8 * d->scale);
  cairo_stroke (d->cr);
}

/* A cross over a wrong prediction, if there is no surface. */
static void
draw_cross (const TaskDrawing *d, double x, double y)
{
  const double r = 5 * d->scale;

  cairo_move_to (d->cr, x - r, y - r);
  cairo_line_to (d->cr, x + r, y + r);
  cairo_move_to (d->cr, x - r, y + r);
  cairo_line_to (d->cr, x + r, y - r);
  studio_color_set (&d->theme.error, d->cr);
  cairo_set_line_width (d->cr, 1.8 * d->scale);
  cairo_stroke (d->cr);
}

static void
draw_points (const TaskDrawing *d, const TaskAxes *axes, gboolean crosses)
{
  const StudioTaskData *data = d->picture->data;
  double least, most, x, y;

  value_range (data, &least, &most);
  for (guint i = 0; i < data->n; i++)
    {
      place_of (d, axes, i, &x, &y);
      if (shows_classes (d->picture))
        task_marker (d, x, y, RADIUS * d->scale,
                     data->y_size > 0 ? (guint)MAX (data->y[(gsize)i * data->y_size], 0) : 0);
      else
        value_marker (d, x, y, data->y_size > 0 ? (data->y[(gsize)i * data->y_size] - least) / (most - least) : 0.5);
      if (crosses && task_is_right (d->picture, i) == 0)
        draw_cross (d, x, y);
    }
  if (d->picture->marked >= 0)
    {
      place_of (d, axes, (guint)d->picture->marked, &x, &y);
      task_ring (d, x, y, RADIUS * d->scale);
    }
}

/* The user's own point: a disc with a cross through it, unlike the markers of classes. */
static void
draw_own_point (const TaskDrawing *d, const TaskAxes *axes)
{
  const double x = task_axes_x (axes, d->picture->point[0]), y = task_axes_y (axes, d->picture->point[1]);
  const double r = 6 * d->scale;

  cairo_arc (d->cr, x, y, r, 0, 2 * G_PI);
  studio_color_set (&d->theme.background, d->cr);
  cairo_fill_preserve (d->cr);
  cairo_move_to (d->cr, x - 2 * r, y);
  cairo_line_to (d->cr, x + 2 * r, y);
  cairo_move_to (d->cr, x, y - 2 * r);
  cairo_line_to (d->cr, x, y + 2 * r);
  studio_color_set (&d->theme.text, d->cr);
  cairo_set_line_width (d->cr, 2 * d->scale);
  cairo_stroke (d->cr);
}

static TaskAxes
axes_of (const TaskDrawing *d)
{
  const Range r = range_of_plane (d->picture);
  return task_axes_new (d, r.x0, r.x1, r.y0, r.y1, TRUE);
}

static void
draw (const TaskDrawing *d, gboolean surface)
{
  const TaskAxes axes = axes_of (d);
  g_autofree char *x = task_feature_name (d->picture->data, d->picture->column[0]);
  g_autofree char *y = task_feature_name (d->picture->data, d->picture->column[1]);

  if (surface)
    draw_surface (d, &axes);
  task_axes_draw (d, &axes, x, y);
  draw_points (d, &axes, !surface);
  if (surface && d->picture->has_point)
    draw_own_point (d, &axes);
}

static void
plane_draw (const TaskDrawing *d)
{
  draw (d, TRUE);
}

static void
rows_draw (const TaskDrawing *d)
{
  draw (d, FALSE);
}

static int
plane_sample_at (const TaskDrawing *d, double x, double y)
{
  const TaskAxes axes = axes_of (d);
  double nearest = 10 * d->scale, px, py;
  int found = -1;

  for (guint i = 0; i < d->picture->data->n; i++)
    {
      place_of (d, &axes, i, &px, &py);
      if (hypot (px - x, py - y) < nearest)
        {
          nearest = hypot (px - x, py - y);
          found = (int)i;
        }
    }
  return found;
}

static void
plane_range (const StudioTaskPicture *picture, double low[2], double high[2])
{
  const Range r = range_of_plane (picture);

  low[0] = r.x0;
  high[0] = r.x1;
  low[1] = r.y0;
  high[1] = r.y1;
}

static void
plane_point_at (const TaskDrawing *d, double x, double y, double point[2])
{
  const TaskAxes axes = axes_of (d);
  const double u = CLAMP ((x - axes.box.x) / axes.box.width, 0, 1);
  const double v = CLAMP ((y - axes.box.y) / axes.box.height, 0, 1);

  point[0] = axes.x0 + u * (axes.x1 - axes.x0);
  point[1] = axes.y1 - v * (axes.y1 - axes.y0);
}

static gint64
plane_cell_at (const TaskDrawing *d, double x, double y)
{
  const TaskAxes axes = axes_of (d);
  const double u = (x - axes.box.x) / axes.box.width, v = (y - axes.box.y) / axes.box.height;
  const guint n = d->picture->answered_grid;

  return u < 0 || u >= 1 || v < 0 || v >= 1 ? -1 : (gint64)(v * n) * n + (gint64)(u * n);
}

static void
plane_cell_rect (const TaskDrawing *d, gsize cell, TaskRect *rect)
{
  const TaskAxes axes = axes_of (d);
  const guint n = d->picture->answered_grid;
  const double w = axes.box.width / n, h = axes.box.height / n;

  *rect = (TaskRect){ axes.box.x + w * (double)(cell % n), axes.box.y + h * (double)(cell / n), w, h };
}

/* What is predicted in a cell, at a point in it. */
static char *
describe_answer (const StudioTaskPicture *p, gsize cell, double x, double y)
{
  const float *answer = task_answer (p, cell);
  g_autofree char *a = studio_format_number (x), *b = studio_format_number (y);

  if (!shows_classes (p))
    {
      g_autofree char *value = studio_format_number (answer[0]);
      return g_strdup_printf (_ ("(%1$s, %2$s): predicted %3$s"), a, b, value);
    }
  const guint best = task_best (p, answer, 0);
  g_autofree char *name = task_class_name (p->data, best);
  return g_strdup_printf (_ ("(%1$s, %2$s): class %3$s, %4$.0f %%"), a, b, name,
                          100 * task_probability (p, answer, best));
}

static char *
plane_describe_place (const TaskDrawing *d, double x, double y)
{
  const gint64 cell = d->picture->answered ? plane_cell_at (d, x, y) : -1;
  double point[2];

  if (cell < 0)
    return NULL;
  plane_point_at (d, x, y, point);
  return describe_answer (d->picture, (gsize)cell, point[0], point[1]);
}

static char *
plane_describe_cell (const StudioTaskPicture *p, gsize cell)
{
  const Range r = range_of_plane (p);
  const guint n = p->answered_grid;

  return describe_answer (p, cell, r.x0 + ((double)(cell % n) + 0.5) / n * (r.x1 - r.x0),
                          r.y1 - ((double)(cell / n) + 0.5) / n * (r.y1 - r.y0));
}

static char *
plane_describe_sample (const StudioTaskPicture *picture, guint sample)
{
  const float *row = picture->data->x + (gsize)sample * picture->data->x_size;
  g_autofree char *a = studio_format_number (row[picture->column[0]]);
  g_autofree char *b = studio_format_number (row[picture->column[1]]);
  g_autofree char *words = task_sample_text (picture, sample);

  return g_strdup_printf ("(%s, %s): %s", a, b, words);
}

static double
plane_height (const StudioTaskPicture *picture, double width, double scale)
{
  return width - 30 * scale + task_line_height (scale);
}

const TaskKind task_plane = {
  .words = N_ ("points in a plane"),
  .n_samples = 400,
  .spread = TRUE,
  .opens = TRUE,
  .legend = TRUE,
  .height = plane_height,
  .draw = plane_draw,
  .sample_at = plane_sample_at,
  .n_grid = plane_n_grid,
  .fill_grid = plane_fill_grid,
  .range = plane_range,
  .point_at = plane_point_at,
  .cell_at = plane_cell_at,
  .cell_rect = plane_cell_rect,
  .describe_cell = plane_describe_cell,
  .describe_place = plane_describe_place,
  .describe_sample = plane_describe_sample,
};

const TaskKind task_rows = {
  .words = N_ ("two columns of tabular data"),
  .n_samples = 400,
  .spread = TRUE,
  .legend = TRUE,
  .height = plane_height,
  .draw = rows_draw,
  .sample_at = plane_sample_at,
  .describe_sample = plane_describe_sample,
};
