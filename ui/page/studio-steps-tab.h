/* The page of the end pane that lists the steps of the plan, opened and closed by a command. */
#pragma once

#include "ui/page/studio-exporter.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_STEPS_TAB (studio_steps_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepsTab, studio_steps_tab, STUDIO, STEPS_TAB, GObject)

/* exporter: not owned, outlives the tab. */
StudioStepsTab *studio_steps_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run,
                                      StudioPanes *panes, const StudioExporter *exporter);
/* Shows the page, or removes it if it is visible and focuses the canvas. */
void studio_steps_tab_toggle (StudioStepsTab *self);
/* Writes the memory along a step: "svg", "png" or "csv". */
void studio_steps_tab_export (StudioStepsTab *self, const char *suffix);
