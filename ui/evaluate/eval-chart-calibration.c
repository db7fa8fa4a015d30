/* The reliability diagram: accuracy over confidence in bins. A bar below the diagonal is overconfident. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/evaluate/eval-chart-plane.h"
#include "ui/scene/studio-format.h"

typedef struct
{
  double n, confidence, accuracy;
} Bin;

static const Bin *
bins_of (StudioEvaluation *model)
{
  const GArray *bins = studio_evaluation_get (model)->bins;

  return bins != NULL ? (const Bin *)(const void *)bins->data : NULL;
}

static guint
n_items (StudioEvaluation *model)
{
  return bins_of (model) != NULL ? LOOM_CALIBRATION_BINS : 0;
}

static void
calibration_draw (const EvalDrawing *d)
{
  const EvalPlane p = eval_plane_new (d, 0, 1);
  const Bin *bin = bins_of (d->model);
  const double wide = p.side / LOOM_CALIBRATION_BINS;
  double most = 1;

  for (guint k = 0; k < LOOM_CALIBRATION_BINS; k++)
    most = MAX (most, bin[k].n);
  for (guint k = 0; k < LOOM_CALIBRATION_BINS; k++)
    {
      if (!(bin[k].n > 0))
        continue;
      const double y = eval_plane_y (&p, bin[k].accuracy);

      /* Bins with few samples are paler. */
      eval_draw_accent (d, 0.3 + 0.6 * sqrt (bin[k].n / most));
      cairo_rectangle (d->cr, p.x + k * wide, y, wide - 1, p.y + p.side - y);
      cairo_fill (d->cr);
      eval_draw_ink (d, 0.9);
      cairo_arc (d->cr, eval_plane_x (&p, bin[k].confidence), y, 2.5 * d->scale, 0, 2 * G_PI);
      cairo_fill (d->cr);
    }
  eval_plane_draw (d, &p, _ ("confidence"), _ ("accuracy"));
  if (d->cursor < 0)
    return;
  eval_draw_ink (d, 0.9);
  cairo_set_line_width (d->cr, 2);
  cairo_rectangle (d->cr, p.x + d->cursor * wide, p.y, wide, p.side);
  cairo_stroke (d->cr);
}

static int
bin_at (const EvalDrawing *d, double x, double y)
{
  const EvalPlane p = eval_plane_new (d, 0, 1);
  const int k = (int)floor ((x - p.x) / p.side * LOOM_CALIBRATION_BINS);

  return k >= 0 && k < LOOM_CALIBRATION_BINS && y >= p.y && y <= p.y + p.side ? k : -1;
}

static char *
describe_bin (StudioEvaluation *model, guint k)
{
  const Bin *bin = &bins_of (model)[k];
  const double low = 100.0 * k / LOOM_CALIBRATION_BINS, high = 100.0 * (k + 1) / LOOM_CALIBRATION_BINS;
  g_autofree char *n = studio_format_count (bin->n);

  if (!(bin->n > 0))
    return g_strdup_printf (_ ("confidence %1$.0f to %2$.0f %%: no samples"), low, high);
  return g_strdup_printf (
      _ ("confidence %1$.0f to %2$.0f %%: %3$s samples, mean confidence %4$.1f %%, accuracy %5$.1f %%"), low, high, n,
      100 * bin->confidence, 100 * bin->accuracy);
}

static char *
describe (StudioEvaluation *model)
{
  return g_strdup_printf (_ ("expected calibration error %.1f %%"),
                          100 * studio_evaluation_get (model)->calibration_error);
}

const EvalChartKind eval_chart_calibration = {
  .title = N_ ("Calibration"),
  .n_items = n_items,
  .height = eval_plane_height,
  .draw = calibration_draw,
  .item_at = bin_at,
  .describe_item = describe_bin,
  .describe = describe,
};
