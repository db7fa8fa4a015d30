/* The curves of a run: the loss of steps and of evaluations, and each metric of evaluations. */
#include "app/report/report-sections.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-plot.h"

#define WIDTH  640
#define HEIGHT 260

static void
draw_plot (cairo_t *cr, PangoContext *context, double width, double height, gpointer data)
{
  const StudioPlotStyle style = { .dark = FALSE, .scale = 1 };

  studio_plot_draw (data, cr, context, &style, width, height, -1);
}

static void
add_curve (StudioPlot *plot, const char *label, StudioPlotCurveStyle style, LoomSeries *series)
{
  double x, y;

  if (loom_series_last (series, &x, &y))
    studio_plot_add_curve (plot, label, style, series);
}

static const char *
label_of (const ReportSeries *series)
{
  return g_str_equal (series->split, "val") ? "validation" : series->split;
}

/* A metric that was evaluated once is in the result alone. */
static gboolean
is_curve (const ReportSeries *series)
{
  return loom_series_length (series->points) > 1;
}

/* name: of the evaluations that are curves of this plot. */
static StudioPlot *
plot_of (const ReportData *data, const char *name)
{
  StudioPlot *plot = studio_plot_new (name);

  if (g_str_equal (name, "loss"))
    add_curve (plot, "train", STUDIO_PLOT_CURVE_TRAIN, data->losses);
  for (guint i = 0; i < data->evaluations->len; i++)
    {
      const ReportSeries *series = data->evaluations->pdata[i];

      if (g_str_equal (series->name, name))
        add_curve (plot, label_of (series), STUDIO_PLOT_CURVE_VALIDATION, series->points);
    }
  for (guint i = 0; i < data->changes->len; i++)
    {
      const ReportChange *change = data->changes->pdata[i];
      g_autofree char *value = studio_format_number (change->value);
      g_autofree char *label = g_strdup_printf ("%s %s", change->name, value);

      studio_plot_add_mark (plot, (double)change->step, label);
    }
  return plot;
}

static void
add_plot (ReportPage *page, const ReportData *data, const char *name)
{
  g_autoptr (StudioPlot) plot = plot_of (data, name);
  double x0, x1, y0, y1;

  if (!studio_plot_bounds (plot, &x0, &x1, &y0, &y1))
    return;
  g_autofree char *words = studio_plot_describe (plot);
  report_page_add_picture (page, words, WIDTH, HEIGHT, draw_plot, g_steal_pointer (&plot),
                           (GDestroyNotify)studio_plot_free);
}

gboolean
report_has_curves (const ReportData *data)
{
  return loom_series_length (data->losses) > 0 || data->evaluations->len > 0;
}

void
report_add_curves (ReportPage *page, const ReportData *data)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  add_plot (page, data, "loss");
  g_hash_table_add (seen, (gpointer) "loss");
  for (guint i = 0; i < data->evaluations->len; i++)
    {
      const ReportSeries *series = data->evaluations->pdata[i];

      if (is_curve (series) && g_hash_table_add (seen, series->name))
        add_plot (page, data, series->name);
    }
  if (data->evaluations->len == 0)
    report_page_add (page, REPORT_NOTE,
                     _ ("The run was not evaluated while it trained, so there is no validation "
                        "curve."));
  else
    report_page_add (page, REPORT_NOTE,
                     _ ("Solid: the batches of training. Dashed: the samples that training does not use."));
}
