/* The window that shows the timeline of one step: of the running run, updated once a second while the window is open,
 * of the last run, or of a trace file. If it shows a run, a second page has the losses of the run's ranks
 * (studio-rank-losses.h). */
#pragma once

#include "ui/run/studio-run.h"

#include <gtk/gtk.h>

/* *window (weak, may be NULL) is reused. */
void studio_timeline_window_present (GtkWindow *parent, GtkWidget **window, StudioRun *run);
/* Opens a trace file written by `gradloom train --trace` or `gradloom simulate --trace`. If it is not a trace, the
 * window says why. */
GtkWidget *studio_timeline_window_open (GtkWindow *parent, const char *path);
