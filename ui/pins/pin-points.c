/* Kinds that draw rows as points: the first two columns, the two principal components, and the decision surface that
 * the task picture draws. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/pins/pin-components.h"
#include "ui/pins/pin-kinds.h"
#include "ui/scene/studio-format.h"

/* The point of each row. */
typedef double *(*Project) (PinValue *v); /* [rows, 2] */

static double *
first_columns (PinValue *v)
{
  const gsize n = pin_value_rows (v), columns = pin_value_columns (v);
  double *point = g_new0 (double, 2 * n);

  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k < MIN (columns, 2); k++)
      point[2 * i + k] = v->values[i * columns + k];
  return point;
}

static double *
components (PinValue *v)
{
  if (v->components == NULL)
    v->components = pin_components_compute (v->values, pin_value_rows (v), pin_value_columns (v));
  return g_memdup2 (v->components, 2 * pin_value_rows (v) * sizeof (double));
}

typedef struct
{
  double *point;
  gsize n;
  double x0, x1, y0, y1;
  double left; /* of the numbers of the vertical axis */
  PinRect box;
} Points;

static void
widen (double *least, double *most)
{
  const double air = MAX ((*most - *least) * 0.06, 1e-9);

  *least -= air;
  *most += air;
}

static double
labels_width (const PinDrawing *d, double low, double high)
{
  g_autofree char *one = studio_format_number (low), *other = studio_format_number (high);
  double width, more;

  pin_text_size (d, one, 1, &width, NULL);
  pin_text_size (d, other, 1, &more, NULL);
  return MAX (width, more);
}

static Points
points_of (const PinDrawing *d, Project project)
{
  const double line = pin_line (d);
  Points p = { .point = project (d->value),
               .n = pin_value_rows (d->value),
               .x0 = INFINITY,
               .y0 = INFINITY,
               .x1 = -INFINITY,
               .y1 = -INFINITY };

  for (gsize i = 0; i < p.n; i++)
    {
      const double x = p.point[2 * i], y = p.point[2 * i + 1];

      if (!isfinite (x) || !isfinite (y))
        continue;
      p.x0 = MIN (p.x0, x);
      p.x1 = MAX (p.x1, x);
      p.y0 = MIN (p.y0, y);
      p.y1 = MAX (p.y1, y);
    }
  if (p.x0 > p.x1)
    p.x0 = p.x1 = p.y0 = p.y1 = 0;
  widen (&p.x0, &p.x1);
  widen (&p.y0, &p.y1);
  p.left = MIN (labels_width (d, p.y0, p.y1) + 4, d->room.width / 2);
  p.box = (PinRect){ d->room.x + p.left, d->room.y, d->room.width - p.left, MAX (1, d->room.height - 1.4 * line) };
  return p;
}

static double
px (const Points *p, gsize i)
{
  return p->box.x + (p->point[2 * i] - p->x0) / (p->x1 - p->x0) * p->box.width;
}

static double
py (const Points *p, gsize i)
{
  return p->box.y + p->box.height - (p->point[2 * i + 1] - p->y0) / (p->y1 - p->y0) * p->box.height;
}

/* Zero lines where they are in view, and the ranges of both axes. */
static void
draw_axes (const PinDrawing *d, const Points *p)
{
  g_autofree char *low = studio_format_number (p->x0), *high = studio_format_number (p->x1);
  g_autofree char *lowest = studio_format_number (p->y0), *highest = studio_format_number (p->y1);
  const double y = p->box.y + p->box.height + 0.8 * pin_line (d), half = 0.5 * pin_line (d);

  pin_ink (d, 0.25);
  cairo_set_line_width (d->cr, 1);
  cairo_rectangle (d->cr, floor (p->box.x) + 0.5, floor (p->box.y) + 0.5, p->box.width - 1, p->box.height - 1);
  if (p->x0 < 0 && p->x1 > 0)
    {
      const double x = floor (p->box.x - p->x0 / (p->x1 - p->x0) * p->box.width) + 0.5;
      cairo_move_to (d->cr, x, p->box.y);
      cairo_line_to (d->cr, x, p->box.y + p->box.height);
    }
  if (p->y0 < 0 && p->y1 > 0)
    {
      const double zero = floor (p->box.y + p->box.height + p->y0 / (p->y1 - p->y0) * p->box.height) + 0.5;
      cairo_move_to (d->cr, p->box.x, zero);
      cairo_line_to (d->cr, p->box.x + p->box.width, zero);
    }
  cairo_stroke (d->cr);
  const double across = pin_pair_scale (d, low, high, p->box.width / 2);
  const double down = pin_pair_scale (d, lowest, highest, p->left);
  pin_text (d, low, p->box.x, y, 0, p->box.width / 2, 0.72, across);
  pin_text (d, high, p->box.x + p->box.width, y, 1, p->box.width / 2, 0.72, across);
  pin_text (d, highest, p->box.x - 4, p->box.y + half, 1, p->left, 0.72, down);
  pin_text (d, lowest, p->box.x - 4, p->box.y + p->box.height - half, 1, p->left, 0.72, down);
}

/* Names where they do not cover an earlier one. */
static void
draw_names (const PinDrawing *d, const Points *p)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (PinRect));

  for (gsize i = 0; i < p->n && taken->len < 300; i++)
    {
      const char *label = pin_value_row_label (d->value, i);
      const char *word = label != NULL ? pin_token (label) : NULL;
      gboolean is_free = word != NULL;
      PinRect at = { px (p, i) + 4, py (p, i), 0, 0 };

      if (word == NULL)
        return;
      pin_text_size (d, word, 1, &at.width, &at.height);
      if (at.x + at.width > p->box.x + p->box.width)
        at.x -= at.width + 8;
      at.y -= at.height / 2;
      for (guint k = 0; k < taken->len && is_free; k++)
        {
          const PinRect *o = &g_array_index (taken, PinRect, k);
          is_free = at.x > o->x + o->width || o->x > at.x + at.width || at.y > o->y + o->height * 0.8
                    || o->y > at.y + at.height * 0.8;
        }
      if (!is_free || at.y < p->box.y || at.y + at.height > p->box.y + p->box.height)
        continue;
      g_array_append_val (taken, at);
      pin_text (d, word, at.x, at.y + at.height / 2, 0, at.width + 1, 0.85, 1);
    }
}

static void
draw_points (const PinDrawing *d, Project project)
{
  const Points p = points_of (d, project);
  const double radius = (p.n > 400 ? 1.6 : 2.8) * d->scale;

  draw_axes (d, &p);
  for (gsize i = 0; i < p.n; i++)
    {
      if (!isfinite (p.point[2 * i]) || !isfinite (p.point[2 * i + 1]))
        continue;
      pin_curve_color (d, 0, p.n > 100 ? 0.6 : 0.85);
      cairo_arc (d->cr, px (&p, i), py (&p, i), radius, 0, 2 * G_PI);
      cairo_fill (d->cr);
    }
  draw_names (d, &p);
  g_free (p.point);
}

static gint64
point_at (const PinDrawing *d, Project project, double x, double y)
{
  const Points p = points_of (d, project);
  double nearest = 14 * d->scale;
  gint64 found = -1;

  for (gsize i = 0; i < p.n; i++)
    if (hypot (px (&p, i) - x, py (&p, i) - y) < nearest)
      {
        nearest = hypot (px (&p, i) - x, py (&p, i) - y);
        found = (gint64)(i * pin_value_columns (d->value));
      }
  g_free (p.point);
  return found;
}

static gboolean
point_rect (const PinDrawing *d, Project project, gsize cell, PinRect *rect)
{
  const Points p = points_of (d, project);
  const gsize i = cell / pin_value_columns (d->value);

  *rect = (PinRect){ px (&p, i) - 4, py (&p, i) - 4, 8, 8 };
  g_free (p.point);
  return isfinite (rect->x) && isfinite (rect->y);
}

static char *
describe_points (const PinDrawing *d, Project project)
{
  const Points p = points_of (d, project);
  g_autofree char *x0 = studio_format_number (p.x0), *x1 = studio_format_number (p.x1);
  g_autofree char *y0 = studio_format_number (p.y0), *y1 = studio_format_number (p.y1);

  g_free (p.point);
  return g_strdup_printf (_ ("%1$d points, across from %2$s to %3$s, up from %4$s to %5$s"), (int)p.n, x0, x1, y0, y1);
}

static char *
describe_point (const PinDrawing *d, Project project, gsize cell)
{
  const Points p = points_of (d, project);
  const gsize i = cell / pin_value_columns (d->value);
  const char *label = pin_value_row_label (d->value, i);
  g_autofree char *x = studio_format_number (p.point[2 * i]), *y = studio_format_number (p.point[2 * i + 1]);
  g_autofree char *name = label != NULL
                              ? g_strdup_printf ("“%s”", pin_token (label))
                              : g_strdup_printf ("%s %zu", d->value->axis[pin_value_axis (d->value, 1)], i + 1);

  g_free (p.point);
  return g_strdup_printf ("%s: (%s, %s) · %s", name, x, y, d->value->title);
}

/* What is drawn: a line for each row, with its name or number. */
static char *
points_to_csv (const PinDrawing *d, Project project)
{
  const Points p = points_of (d, project);
  GString *text = g_string_new (d->value->axis[pin_value_axis (d->value, 1)]);

  g_string_append (text, ",x,y\n");
  for (gsize i = 0; i < p.n; i++)
    {
      const char *label = pin_value_row_label (d->value, i);
      char x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];

      g_ascii_formatd (x, sizeof x, "%.9g", p.point[2 * i]);
      g_ascii_formatd (y, sizeof y, "%.9g", p.point[2 * i + 1]);
      if (label != NULL)
        loom_text_append_csv (text, label);
      else
        g_string_append_printf (text, "%zu", i + 1);
      g_string_append_printf (text, ",%s,%s\n", x, y);
    }
  g_free (p.point);
  return g_string_free (text, FALSE);
}

/* The same functions for both projections. */
#define FUNCTIONS(NAME, PROJECT)                                                                                       \
  static void NAME##_draw (const PinDrawing *d)                                                                        \
  {                                                                                                                    \
    draw_points (d, PROJECT);                                                                                          \
  }                                                                                                                    \
  static gint64 NAME##_at (const PinDrawing *d, double x, double y)                                                    \
  {                                                                                                                    \
    return point_at (d, PROJECT, x, y);                                                                                \
  }                                                                                                                    \
  static gboolean NAME##_rect (const PinDrawing *d, gsize cell, PinRect *rect)                                         \
  {                                                                                                                    \
    return point_rect (d, PROJECT, cell, rect);                                                                        \
  }                                                                                                                    \
  static char *NAME##_describe (const PinDrawing *d)                                                                   \
  {                                                                                                                    \
    return describe_points (d, PROJECT);                                                                               \
  }                                                                                                                    \
  static char *NAME##_describe_cell (const PinDrawing *d, gsize cell)                                                  \
  {                                                                                                                    \
    return describe_point (d, PROJECT, cell);                                                                          \
  }                                                                                                                    \
  static char *NAME##_to_csv (const PinDrawing *d)                                                                     \
  {                                                                                                                    \
    return points_to_csv (d, PROJECT);                                                                                 \
  }

FUNCTIONS (scatter, first_columns)
FUNCTIONS (component, components)

static int
scatter_fits (const PinSubject *subject)
{
  if (subject->is_integer || subject->rank < 2)
    return 0;
  return subject->dims[subject->rank - 1] == 2 ? 5 : 0;
}

static int
components_fits (const PinSubject *subject)
{
  if (subject->is_integer || subject->rank < 2 || subject->is_attention)
    return 0;
  if (subject->is_embedding)
    return 7;
  return subject->rank - subject->n_loops <= 3 && subject->dims[subject->rank - 1] > 2 ? 2 : 0;
}

const StudioPinKind pin_scatter = {
  .name = "scatter",
  .title = N_ ("Points"),
  .width = 176,
  .height = 176,
  .lines = 1.5,
  .fits = scatter_fits,
  .n_whole = 2,
  .draw = scatter_draw,
  .cell_at = scatter_at,
  .cell_rect = scatter_rect,
  .describe = scatter_describe,
  .describe_cell = scatter_describe_cell,
  .to_csv = scatter_to_csv,
};

const StudioPinKind pin_components = {
  .name = "components",
  .title = N_ ("Principal components"),
  .width = 240,
  .height = 240,
  .lines = 1.5,
  .fits = components_fits,
  .n_whole = 2,
  .draw = component_draw,
  .cell_at = component_at,
  .cell_rect = component_rect,
  .describe = component_describe,
  .describe_cell = component_describe_cell,
  .to_csv = component_to_csv,
};

/* ---- the decision surface ----------------------------------------------------- */

static int
surface_fits (const PinSubject *subject)
{
  return subject->has_plane && subject->is_prediction && !subject->is_gradient ? 6 : 0;
}

static StudioTaskStyle
surface_style (const PinDrawing *d)
{
  return (StudioTaskStyle){ .dark = d->dark, .scale = d->scale };
}

static gboolean
has_plane (const PinDrawing *d)
{
  return d->value->plane != NULL && d->value->plane->data != NULL;
}

/* Its cells are those of the grid of predictions. */
static gsize
surface_n_cells (const PinDrawing *d, gsize *across)
{
  *across = has_plane (d) ? studio_task_picture_grid (d->value->plane) : 0;
  return *across * *across;
}

static gint64
surface_cell_at (const PinDrawing *d, double x, double y)
{
  const StudioTaskStyle style = surface_style (d);

  return has_plane (d) ? studio_task_picture_cell_at (d->value->plane, d->context, &style, d->room.width,
                                                      d->room.height, x - d->room.x, y - d->room.y)
                       : -1;
}

static gboolean
surface_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  const StudioTaskStyle style = surface_style (d);

  if (!has_plane (d)
      || !studio_task_picture_cell_rect (d->value->plane, d->context, &style, d->room.width, d->room.height, cell,
                                         &rect->x, &rect->y, &rect->width, &rect->height))
    return FALSE;
  rect->x += d->room.x;
  rect->y += d->room.y;
  return TRUE;
}

static char *
surface_describe_cell (const PinDrawing *d, gsize cell)
{
  g_autofree char *words = studio_task_picture_describe_cell (d->value->plane, cell);

  return g_strdup_printf ("%s · %s", words, d->value->title);
}

static char *
surface_to_csv (const PinDrawing *d)
{
  return has_plane (d) ? studio_task_picture_to_csv (d->value->plane) : pin_value_to_csv (d->value);
}

static void
surface_draw (const PinDrawing *d)
{
  const StudioTaskStyle style = surface_style (d);

  if (!has_plane (d))
    {
      pin_text (d, _ ("The samples have no two features to draw."), d->room.x, d->room.y + pin_line (d), 0,
                d->room.width, 0.72, 1);
      return;
    }
  cairo_save (d->cr);
  cairo_translate (d->cr, d->room.x, d->room.y);
  studio_task_picture_draw (d->value->plane, d->cr, d->context, &style, d->room.width, d->room.height);
  cairo_restore (d->cr);
}

static char *
surface_describe (const PinDrawing *d)
{
  return d->value->plane != NULL ? studio_task_picture_describe (d->value->plane) : g_strdup (_ ("no samples"));
}

const StudioPinKind pin_surface = {
  .name = "surface",
  .title = N_ ("Decision surface"),
  .width = 240,
  .height = 260,
  .lines = 1.5,
  .fits = surface_fits,
  .n_whole = 2,
  .draws_plane = TRUE,
  .draw = surface_draw,
  .cell_at = surface_cell_at,
  .cell_rect = surface_cell_rect,
  .n_cells = surface_n_cells,
  .describe = surface_describe,
  .describe_cell = surface_describe_cell,
  .to_csv = surface_to_csv,
};
