/* Figures, charts and memory of a run side by side; fewer of them, the most important ones, where there is less room
 * (run-layout.h). */
#pragma once

#include <gtk/gtk.h>

#include "ui/run/run-layout.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_RUN_BODY (studio_run_body_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunBody, studio_run_body, STUDIO, RUN_BODY, GtkWidget)

/* Signal "resized": it was given its place just now, when nothing may be laid out anew.
 *
 * rank: of each figure in the order in which they are read, 0 stays longest. What is not visible takes no room. */
void studio_run_body_set_figure (StudioRunBody *self, guint i, GtkWidget *figure, guint rank);
void studio_run_body_set_chart (StudioRunBody *self, guint i, GtkWidget *chart);
void studio_run_body_set_memory (StudioRunBody *self, GtkWidget *memory);

G_END_DECLS
