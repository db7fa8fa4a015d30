/* Bars of classes: their accuracy, and their samples. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/evaluate/studio-eval-chart.h"
#include "ui/scene/studio-format.h"

#define LINE      18
#define MOST_NAME 110

static guint
n_classes (StudioEvaluation *model)
{
  const LoomConfusion *c = studio_evaluation_get (model)->confusion;

  return c != NULL ? c->n_classes : 0;
}

static double
bars_height (StudioEvaluation *model, double width, double scale)
{
  return n_classes (model) * LINE * scale + 4;
}

static double
names_width (const EvalDrawing *d)
{
  const EvalDrawing measure = { .context = d->context, .scale = d->scale };
  double width = 0;

  for (guint k = 0; k < n_classes (d->model); k++)
    {
      g_autofree char *name = studio_evaluation_class_name (d->model, k);
      width = MAX (width, eval_draw_text (&measure, name, 0, 0, 0, MOST_NAME * d->scale));
    }
  return width + 8;
}

static int
bar_at (const EvalDrawing *d, double x, double y)
{
  const int k = (int)floor (y / (LINE * d->scale));

  return k >= 0 && k < (int)n_classes (d->model) ? k : -1;
}

/* fraction of the full length; NaN: no bar. */
static void
draw_bar (const EvalDrawing *d, guint k, double left, double right, double fraction, const char *text)
{
  const double line = LINE * d->scale, y = (k + 0.5) * line;
  g_autofree char *name = studio_evaluation_class_name (d->model, k);

  if ((int)k == d->cursor)
    {
      eval_draw_ink (d, 0.1);
      cairo_rectangle (d->cr, 0, k * line, d->width, line);
      cairo_fill (d->cr);
    }
  eval_draw_ink (d, 0.9);
  eval_draw_text (d, name, left - 8, y, 1, MOST_NAME * d->scale);
  eval_draw_ink (d, 0.08);
  cairo_rectangle (d->cr, left, y - 5 * d->scale, right - left, 10 * d->scale);
  cairo_fill (d->cr);
  if (!isnan (fraction))
    {
      eval_draw_accent (d, 0.9);
      cairo_rectangle (d->cr, left, y - 5 * d->scale, (right - left) * CLAMP (fraction, 0, 1), 10 * d->scale);
      cairo_fill (d->cr);
    }
  eval_draw_ink (d, 0.9);
  eval_draw_text (d, text, d->width, y, 1, d->width - right - 4);
}

/* ---- accuracy --------------------------------------------------------------- */

static char *
percent (double fraction)
{
  return isnan (fraction) ? g_strdup ("–") : g_strdup_printf ("%.1f %%", 100 * fraction);
}

static void
accuracy_draw (const EvalDrawing *d)
{
  const LoomConfusion *c = studio_evaluation_get (d->model)->confusion;
  const double left = names_width (d), right = d->width - 56 * d->scale;

  for (guint k = 0; k < c->n_classes; k++)
    {
      g_autofree char *text = percent (loom_confusion_recall (c, k));
      draw_bar (d, k, left, right, loom_confusion_recall (c, k), text);
    }
}

static char *
accuracy_item (StudioEvaluation *model, guint k)
{
  const LoomConfusion *c = studio_evaluation_get (model)->confusion;
  g_autofree char *name = studio_evaluation_class_name (model, k), *recall = percent (loom_confusion_recall (c, k));
  g_autofree char *precision = percent (loom_confusion_precision (c, k));
  g_autofree char *n = studio_format_count ((double)loom_confusion_row (c, k));

  /* Translators: a class, the percentage of its samples that are predicted correctly, their number, and the percentage
   * of its predictions that are correct. */
  return g_strdup_printf (_ ("%1$s: accuracy %2$s of %3$s samples, precision %4$s"), name, recall, n, precision);
}

static char *
accuracy_words (StudioEvaluation *model)
{
  const LoomConfusion *c = studio_evaluation_get (model)->confusion;
  guint best = 0, worst = 0;

  /* A class without samples has no accuracy. */
  while (best + 1 < c->n_classes && isnan (loom_confusion_recall (c, best)))
    worst = ++best;
  for (guint k = best + 1; k < c->n_classes; k++)
    {
      best = loom_confusion_recall (c, k) > loom_confusion_recall (c, best) ? k : best;
      worst = loom_confusion_recall (c, k) < loom_confusion_recall (c, worst) ? k : worst;
    }
  g_autofree char *high = studio_evaluation_class_name (model, best),
                  *low = studio_evaluation_class_name (model, worst);
  return g_strdup_printf (_ ("highest: %1$s, %2$.1f %%; lowest: %3$s, %4$.1f %%"), high,
                          100 * loom_confusion_recall (c, best), low, 100 * loom_confusion_recall (c, worst));
}

const EvalChartKind eval_chart_accuracy = {
  .title = N_ ("Accuracy of each class"),
  .n_items = n_classes,
  .height = bars_height,
  .draw = accuracy_draw,
  .item_at = bar_at,
  .describe_item = accuracy_item,
  .describe = accuracy_words,
};

/* ---- counts ------------------------------------------------------------------- */

static void
counts_draw (const EvalDrawing *d)
{
  const LoomConfusion *c = studio_evaluation_get (d->model)->confusion;
  const double left = names_width (d), right = d->width - 56 * d->scale;
  guint most;

  loom_confusion_is_unbalanced (c, &most, NULL);
  for (guint k = 0; k < c->n_classes; k++)
    {
      const double n = (double)loom_confusion_row (c, k);
      g_autofree char *text = studio_format_count (n);
      draw_bar (d, k, left, right, n / MAX ((double)loom_confusion_row (c, most), 1), text);
    }
}

static char *
counts_item (StudioEvaluation *model, guint k)
{
  const LoomConfusion *c = studio_evaluation_get (model)->confusion;
  g_autofree char *name = studio_evaluation_class_name (model, k);
  g_autofree char *n = studio_format_count ((double)loom_confusion_row (c, k));

  return g_strdup_printf (_ ("%1$s: %2$s samples"), name, n);
}

static char *
counts_words (StudioEvaluation *model)
{
  guint most, least;
  const gboolean is_bad = loom_confusion_is_unbalanced (studio_evaluation_get (model)->confusion, &most, &least);
  g_autofree char *large = counts_item (model, most), *small = counts_item (model, least);

  return g_strdup_printf (is_bad ? _ ("not balanced: %1$s; %2$s") : _ ("balanced: %1$s; %2$s"), large, small);
}

const EvalChartKind eval_chart_counts = {
  .title = N_ ("Samples of each class"),
  .n_items = n_classes,
  .height = bars_height,
  .draw = counts_draw,
  .item_at = bar_at,
  .describe_item = counts_item,
  .describe = counts_words,
};
