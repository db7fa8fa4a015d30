/* Writes charts as pictures, or their numbers as CSV. */
#include <string.h>

#include "engine/loom.h"
#include "ui/charts/studio-plot.h"
#include "ui/drawing/studio-export.h"

static void
draw_plot (cairo_t *cr, double width, double height, gpointer data)
{
  PangoContext *context = studio_export_context_new ();
  StudioPlotStyle style = { .dark = FALSE, .scale = 1 };
  cairo_translate (cr, 12, 12);
  studio_plot_draw (data, cr, context, &style, width - 24, height - 24, -1);
  g_object_unref (context);
}

gboolean
studio_plot_export (const StudioPlot *plot, const char *path, GError **error)
{
  if (studio_export_has_suffix (path, ".csv"))
    {
      g_autofree char *csv = studio_plot_to_csv (plot);
      return loom_file_replace (path, csv, strlen (csv), error);
    }
  return studio_export_drawing (path, 640, 320, draw_plot, (gpointer)plot, error);
}
