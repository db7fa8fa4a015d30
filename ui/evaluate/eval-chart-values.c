/* Predicted over true values; the line from a point to the diagonal is its residual. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/evaluate/eval-chart-plane.h"
#include "ui/scene/studio-format.h"

#define REACH 12 /* pixels from the pointer to a point */

static const StudioEvaluatedSample *
points_of (StudioEvaluation *model, guint *n)
{
  const StudioEvaluated *is = studio_evaluation_get (model);

  *n = is->n > 0 && is->n_classes == 0 && is->points != NULL ? is->points->len : 0;
  return *n > 0 ? (const StudioEvaluatedSample *)(const void *)is->points->data : NULL;
}

static guint
n_items (StudioEvaluation *model)
{
  guint n;

  points_of (model, &n);
  return n;
}

static EvalPlane
plane_of (const EvalDrawing *d)
{
  guint n;
  const StudioEvaluatedSample *s = points_of (d->model, &n);
  double low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < n; i++)
    if (isfinite (s[i].target) && isfinite (s[i].predicted))
      {
        low = MIN (low, MIN (s[i].target, s[i].predicted));
        high = MAX (high, MAX (s[i].target, s[i].predicted));
      }
  if (!(low < high))
    {
      low = isfinite (low) ? low - 1 : 0;
      high = low + 2;
    }
  return eval_plane_new (d, low, high);
}

static void
values_draw (const EvalDrawing *d)
{
  guint n;
  const StudioEvaluatedSample *s = points_of (d->model, &n);
  const EvalPlane p = plane_of (d);
  const double alpha = n > 500 ? 0.35 : 0.7;

  for (guint i = 0; i < n; i++)
    {
      if (!isfinite (s[i].target) || !isfinite (s[i].predicted))
        continue;
      const double x = eval_plane_x (&p, s[i].target), y = eval_plane_y (&p, s[i].predicted);

      if (n <= 200 || (int)i == d->cursor)
        {
          eval_draw_ink (d, (int)i == d->cursor ? 0.9 : 0.25);
          cairo_set_line_width (d->cr, (int)i == d->cursor ? 2 : 1);
          cairo_move_to (d->cr, x, y);
          cairo_line_to (d->cr, x, eval_plane_y (&p, s[i].target));
          cairo_stroke (d->cr);
        }
      eval_draw_accent (d, (int)i == d->cursor ? 1 : alpha);
      cairo_arc (d->cr, x, y, ((int)i == d->cursor ? 5 : 2.5) * d->scale, 0, 2 * G_PI);
      cairo_fill (d->cr);
    }
  eval_plane_draw (d, &p, _ ("true value"), _ ("predicted value"));
}

static int
point_at (const EvalDrawing *d, double x, double y)
{
  guint n;
  const StudioEvaluatedSample *s = points_of (d->model, &n);
  const EvalPlane p = plane_of (d);
  double least = REACH * REACH;
  int at = -1;

  for (guint i = 0; i < n; i++)
    {
      const double dx = eval_plane_x (&p, s[i].target) - x, dy = eval_plane_y (&p, s[i].predicted) - y;

      if (dx * dx + dy * dy < least)
        {
          least = dx * dx + dy * dy;
          at = (int)i;
        }
    }
  return at;
}

static char *
describe_point (StudioEvaluation *model, guint i)
{
  guint n;
  const StudioEvaluatedSample *s = &points_of (model, &n)[i];
  g_autofree char *target = studio_format_number (s->target), *value = studio_format_number (s->predicted);
  g_autofree char *rest = studio_format_number (s->predicted - s->target);
  g_autofree char *index = studio_format_count ((double)s->index);

  /* Translators: a point: number of the sample, true value, predicted value, and their difference. */
  return g_strdup_printf (_ ("sample %1$s: true %2$s, predicted %3$s, residual %4$s"), index, target, value, rest);
}

static char *
describe (StudioEvaluation *model)
{
  guint n;
  const StudioEvaluatedSample *s = points_of (model, &n);
  double mean = 0, most = 0;

  for (guint i = 0; i < n; i++)
    {
      mean += (s[i].predicted - s[i].target) / n;
      most = MAX (most, fabs (s[i].predicted - s[i].target));
    }
  g_autofree char *first = studio_format_number (mean), *last = studio_format_number (most);
  return g_strdup_printf (_ ("mean residual %1$s, largest %2$s"), first, last);
}

const EvalChartKind eval_chart_values = {
  .title = N_ ("Predicted and true values"),
  .n_items = n_items,
  .height = eval_plane_height,
  .draw = values_draw,
  .item_at = point_at,
  .describe_item = describe_point,
  .describe = describe,
};
