/* The runs of the document's graph as a page of the end pane, and the queue of runs. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/page/studio-comparing.h"
#include "ui/page/studio-panel-split.h"
#include "ui/page/studio-runner.h"
#include "ui/run/studio-run-panel.h"
#include "ui/runs/studio-run-queue.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_RUNS_TAB (studio_runs_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunsTab, studio_runs_tab, STUDIO, RUNS_TAB, GObject)

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  StudioPanes *panes;
  StudioRunner *runner;
  StudioRunPanel *panel;
  StudioPanelSplit *split;
  StudioComparing *comparing;
  GtkWidget *toasts;
} StudioRunsTabParts;

/* The parts live as long as the tab. */
StudioRunsTab *studio_runs_tab_new (const StudioRunsTabParts *parts);
/* Shows the page, or removes it if it is visible and focuses the canvas. */
void studio_runs_tab_toggle (StudioRunsTab *self);
/* Adds the document's graph to the queue, which starts if nothing trains. */
void studio_runs_tab_queue (StudioRunsTab *self);
/* The same for each value of an attribute of <train>. */
void studio_runs_tab_sweep (StudioRunsTab *self, const char *attribute, const char *const *values);
/* And of an attribute of a node. */
void studio_runs_tab_sweep_node (StudioRunsTab *self, guint64 serial, const char *attribute, const char *const *values);
/* Starts the first run of the queue, if nothing trains. */
void studio_runs_tab_start (StudioRunsTab *self);
/* Runs of the queue are lost when the tab closes. */
StudioRunQueue *studio_runs_tab_get_queue (StudioRunsTab *self);
/* For tests; NULL: the page is not there. (transfer full) */
char *studio_runs_tab_dump (StudioRunsTab *self);
