/* The widget of the task view: pointer and arrow keys select samples, which are described for users and screen readers.
 */
#pragma once

#include <gtk/gtk.h>

#include "ui/task/studio-task-picture.h"

#define STUDIO_TYPE_TASK_VIEW (studio_task_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioTaskView, studio_task_view, STUDIO, TASK_VIEW, GtkWidget)

StudioTaskView *studio_task_view_new (void);
/* picture must outlive the widget or be replaced; NULL: none. Set it again after it has changed. */
void studio_task_view_set_picture (StudioTaskView *self, StudioTaskPicture *picture);
/* Shows a point of the user's own in a plane of two features, which the pointer drags and arrow keys move; words are
 * read aloud with it, NULL: none. Signal "point-moved" (x, y: double). */
void studio_task_view_show_point (StudioTaskView *self, const double point[2], const char *words);
/* The accessible description. */
const char *studio_task_view_get_description (StudioTaskView *self);
