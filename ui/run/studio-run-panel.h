/* The run panel: large figures, charts, memory, and what may be changed while it trains. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-chart.h"
#include "ui/run/studio-run.h"
#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_RUN_PANEL (studio_run_panel_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunPanel, studio_run_panel, STUDIO, RUN_PANEL, GtkWidget)

StudioRunPanel *studio_run_panel_new (StudioDocument *document, StudioRun *run);
/* The names of the worker's devices; the first serves where the graph names none. */
void studio_run_panel_set_devices (StudioRunPanel *self, const char *const *devices);
/* Shows "watch" or "full"; choosing one activates win.speed. */
void studio_run_panel_set_speed (StudioRunPanel *self, const char *speed);
void studio_run_panel_set_presentation (StudioRunPanel *self, gboolean on);
void studio_run_panel_focus_learning_rate (StudioRunPanel *self);
/* "loss" or the first metric. */
StudioChart *studio_run_panel_get_chart (StudioRunPanel *self, gboolean metric);

G_END_DECLS
