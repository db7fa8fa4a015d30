/* The page with the runs: a list, and views that compare them. */
#pragma once

#include "ui/runs/studio-run-queue.h"
#include "ui/runs/studio-runs.h"

#include <gtk/gtk.h>

#define STUDIO_TYPE_RUNS_PANE (studio_runs_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunsPane, studio_runs_pane, STUDIO, RUNS_PANE, GtkBox)

/* Signals: "say" (sentence); "delete" (StudioRunEntry), "compare" (StudioRunEntry), "attach" (StudioRunEntry): the user wants this; "folder":
 * another folder is to be chosen. */
GtkWidget *studio_runs_pane_new (StudioRuns *runs, StudioRunQueue *queue);
void studio_runs_pane_focus (StudioRunsPane *self);
/* For tests: "view=list\truns=3\tchosen=1\tselected=baseline\tqueue=0". (transfer full) */
char *studio_runs_pane_dump (StudioRunsPane *self);
