/* The pane with the task view: the plot of samples and predictions, menus for split, sample and columns, and a sentence
 * if there is nothing to plot. */
#pragma once

#include "ui/run/studio-task.h"

#define STUDIO_TYPE_TASK_PANE (studio_task_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioTaskPane, studio_task_pane, STUDIO, TASK_PANE, GtkBox)

StudioTaskPane *studio_task_pane_new (StudioTask *task);
void studio_task_pane_focus (StudioTaskPane *self);
