/* The picture of the task: a page of the end pane, by command, and on its own in lessons about data; on the projector
 * next to the graph. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-task.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_TASK_TAB (studio_task_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioTaskTab, studio_task_tab, STUDIO, TASK_TAB, GObject)

/* stage: a GtkBox next to the canvas, for the projector. */
StudioTaskTab *studio_task_tab_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas, StudioPanes *panes,
                                    GtkWidget *stage);
/* Shows the page, or removes it if it is visible and focuses the canvas. */
void studio_task_tab_toggle (StudioTaskTab *self);
/* Another graph was opened. has_lesson: the page comes on its own if the picture is worth it. */
void studio_task_tab_open (StudioTaskTab *self, gboolean has_lesson);
/* On the projector the picture is on the stage, unless a pinned map is. */
void studio_task_tab_present (StudioTaskTab *self, gboolean on);
StudioTask *studio_task_tab_get_task (StudioTaskTab *self);
