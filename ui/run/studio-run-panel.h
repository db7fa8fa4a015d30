/* The run panel below the canvas: figures, charts, memory, and the settings that can change during training. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-chart.h"
#include "ui/run/studio-run.h"
#include "ui/document/studio-document.h"

#define STUDIO_TYPE_RUN_PANEL (studio_run_panel_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunPanel, studio_run_panel, STUDIO, RUN_PANEL, GtkWidget)

StudioRunPanel *studio_run_panel_new (StudioDocument *document, StudioRun *run);
/* The names of the worker's devices; the first is the default. */
void studio_run_panel_set_devices (StudioRunPanel *self, const char *const *devices);
/* Selects "watch" or "full"; the user's selection activates win.speed. */
void studio_run_panel_set_speed (StudioRunPanel *self, const char *speed);
void studio_run_panel_set_presentation (StudioRunPanel *self, gboolean on);
void studio_run_panel_focus_learning_rate (StudioRunPanel *self);
/* metric: FALSE for the chart of the loss, TRUE for that of the first metric. */
StudioChart *studio_run_panel_get_chart (StudioRunPanel *self, gboolean metric);
/* Curves of other runs that the chart of the loss shows; call studio_run_panel_update() after a change. (transfer none)
 */
StudioPlot *studio_run_panel_get_overlays (StudioRunPanel *self);
void studio_run_panel_update (StudioRunPanel *self);
