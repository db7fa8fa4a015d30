/* The windows about a run: the timeline of a step, the tables of parameters and memory; and its graph in a page of its
 * own. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

typedef struct _StudioRunWindows StudioRunWindows;

/* toasts: an AdwToastOverlay for sentences; the windows are transient for its window. */
StudioRunWindows *studio_run_windows_new (StudioDocument *document, StudioRun *run, GtkWidget *toasts);
/* Closes the windows. */
void studio_run_windows_free (StudioRunWindows *self);
/* The popover of devices and ranks, below this button, or else at the upper end of the page. */
void studio_run_windows_set_devices_button (StudioRunWindows *self, GtkWidget *button);
void studio_run_windows_show_devices (StudioRunWindows *self);
void studio_run_windows_show_timeline (StudioRunWindows *self);
void studio_run_windows_show_parameters (StudioRunWindows *self);
void studio_run_windows_show_memory (StudioRunWindows *self);
/* Activates win.open-recent with the graph that the run has written. */
void studio_run_windows_show_graph (StudioRunWindows *self);
