/* The model of the task view: reads the samples of the document's data set and, while a run trains and the view is
 * visible, requests the model's predictions for them from the worker. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"
#include "ui/task/studio-task-view.h"

#define STUDIO_TYPE_TASK (studio_task_get_type ())
G_DECLARE_FINAL_TYPE (StudioTask, studio_task, STUDIO, TASK, GObject)

/* Signal "changed": the samples, the predictions or the message have changed. */
StudioTask *studio_task_new (StudioDocument *document, StudioRun *run);
/* Nothing is read or requested unless a watched widget is mapped. */
void studio_task_watch (StudioTask *self, GtkWidget *widget);
/* Returns a new view (floating) of the samples, which is watched. */
GtkWidget *studio_task_new_view (StudioTask *self);
/* Owned by the task; its data are NULL while there is a message. */
StudioTaskPicture *studio_task_get_picture (StudioTask *self);
/* The reason why there are no samples or no predictions, a sentence; NULL: both exist. */
const char *studio_task_get_message (StudioTask *self);
/* The kind of view for the current graph. */
LoomTaskViewKind studio_task_get_kind (StudioTask *self);
/* Sets the samples to show: of a split, from index first on, or spread over it. */
void studio_task_set_split (StudioTask *self, LoomSplit split);
void studio_task_turn_page (StudioTask *self, int by);
/* For tabular data: the columns of the axes. */
void studio_task_set_column (StudioTask *self, guint axis, guint column);
