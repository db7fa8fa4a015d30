/* The widget that lays out figures, charts and memory of a run side by side. In a small panel it hides the least
 * important ones (run-layout.h). */
#pragma once

#include <gtk/gtk.h>

#include "ui/run/run-layout.h"

#define STUDIO_TYPE_RUN_BODY (studio_run_body_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunBody, studio_run_body, STUDIO, RUN_BODY, GtkWidget)

/* The signal "resized" is emitted after a size was allocated; the handler may not change the layout.
 *
 * rank: importance of the figure, 0 is hidden last. Children that are not visible take no space. */
void studio_run_body_set_figure (StudioRunBody *self, guint i, GtkWidget *figure, guint rank);
void studio_run_body_set_chart (StudioRunBody *self, guint i, GtkWidget *chart);
void studio_run_body_set_memory (StudioRunBody *self, GtkWidget *memory);
