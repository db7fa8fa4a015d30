/* The window with the lanes of a step: of the run that goes on, recorded anew once a second while one looks, or of the
 * one that has ended. */
#pragma once

#include "ui/run/studio-run.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* *window (weak, may be NULL) is kept for the next time. */
void studio_timeline_window_present (GtkWindow *parent, GtkWidget **window, StudioRun *run);
/* A window of the trace in this file, as `gradloom train --trace` and `gradloom simulate --trace` write it; or of the
 * sentence that says why it is none. */
GtkWidget *studio_timeline_window_open (GtkWindow *parent, const char *path);

G_END_DECLS
