/* The sentence about the sickest node in the status line, with a button that returns the run to a checkpoint before. */
#pragma once

#include <gtk/gtk.h>

#include "ui/page/studio-runner.h"
#include "ui/pins/studio-health-watch.h"

#define STUDIO_TYPE_HEALTH_LINE (studio_health_line_get_type ())
G_DECLARE_FINAL_TYPE (StudioHealthLine, studio_health_line, STUDIO, HEALTH_LINE, GtkBox)

/* Invisible while all nodes are well. */
StudioHealthLine *studio_health_line_new (StudioHealthWatch *watch, StudioRunner *runner);
/* Goes back, if there is a checkpoint from before. */
void studio_health_line_go_back (StudioHealthLine *self);
