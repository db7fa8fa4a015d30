/* The chart widget: draws a StudioPlot, with a crosshair under the pointer and a description for screen readers. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-plot.h"

#define STUDIO_TYPE_CHART (studio_chart_get_type ())
G_DECLARE_FINAL_TYPE (StudioChart, studio_chart, STUDIO, CHART, GtkWidget)

/* Signals: "picked" (double): the user has clicked or drags at this x, or pressed Enter at the cursor; "released":
 * Escape, without a cursor. */

StudioChart *studio_chart_new (const char *title);
/* Owned by the chart; call studio_chart_update() after changing it. */
StudioPlot *studio_chart_get_plot (StudioChart *self);
const char *studio_chart_get_label (StudioChart *self); /* for screen readers: "loss chart" */
void studio_chart_update (StudioChart *self);
void studio_chart_set_text_scale (StudioChart *self, double scale);
