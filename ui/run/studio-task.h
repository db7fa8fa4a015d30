/* The picture of the document's task: reads its samples, and asks the worker what is answered to them while a run goes
 * on and somebody looks. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"
#include "ui/task/studio-task-view.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_TASK (studio_task_get_type ())
G_DECLARE_FINAL_TYPE (StudioTask, studio_task, STUDIO, TASK, GObject)

/* Signal "changed": another picture, other answers, or another message. */
StudioTask *studio_task_new (StudioDocument *document, StudioRun *run);
/* While no such widget is mapped nothing is read or asked for. */
void studio_task_watch (StudioTask *self, GtkWidget *widget);
/* A new view (floating) of the picture, which is such a widget. */
GtkWidget *studio_task_new_view (StudioTask *self);
/* Owned by the task; its data are NULL while there is a message. */
StudioTaskPicture *studio_task_get_picture (StudioTask *self);
/* Why there is no picture, or no prediction in it, as a sentence; NULL: all is there. */
const char *studio_task_get_message (StudioTask *self);
/* The kind of view that the document's graph has, worked out now. */
LoomTaskViewKind studio_task_get_kind (StudioTask *self);
/* Which samples are shown: of a split, from the nth on where they are not spread over it. */
void studio_task_set_split (StudioTask *self, LoomSplit split);
void studio_task_turn_page (StudioTask *self, int by);
/* Of rows: the columns that are axes. */
void studio_task_set_column (StudioTask *self, guint axis, guint column);

G_END_DECLS
