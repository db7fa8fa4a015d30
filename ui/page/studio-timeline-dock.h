/* The timeline of the run at the lower edge of the canvas: open and closed by a command. */
#pragma once

#include <gtk/gtk.h>

#include "ui/run/studio-run.h"

typedef struct _StudioTimelineDock StudioTimelineDock;

/* box: a vertical GtkBox, at whose end it is shown; it must outlive this. */
StudioTimelineDock *studio_timeline_dock_new (GtkWidget *box, StudioRun *run);
void studio_timeline_dock_free (StudioTimelineDock *self);
void studio_timeline_dock_toggle (StudioTimelineDock *self);
