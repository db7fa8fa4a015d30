/* The window with the lanes of a step: of the run that goes on, recorded anew once a second while one looks, or of the
 * one that has ended. */
#pragma once

#include "ui/run/studio-run.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* *window (weak, may be NULL) is kept for the next time. */
void studio_timeline_window_present (GtkWindow *parent, GtkWidget **window, StudioRun *run);

G_END_DECLS
