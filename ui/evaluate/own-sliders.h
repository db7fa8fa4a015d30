/* Sliders for the columns of a sample of numbers, each over the range of the data. */
#pragma once

#include <gtk/gtk.h>

#include "ui/task/studio-task-data.h"

/* A row in the box for each of the first columns; moved is called with owner alone when a slider moves. */
void own_sliders_fill (GtkBox *box, const StudioTaskData *data, GCallback moved, gpointer owner);
/* Moves them to the sample x; data is that of own_sliders_fill(). */
void own_sliders_set (GtkBox *box, const StudioTaskData *data, const float *x);
/* The sample; columns without a slider have their mean. (transfer full) */
float *own_sliders_read (GtkBox *box, const StudioTaskData *data);
