/* The widget with the memory along a step (ui/drawing/draw-step-memory.h). A click, or the arrow keys, mark a moment;
 * Home marks the peak, Escape nothing. */
#pragma once

#include <gtk/gtk.h>

#include "ui/drawing/draw-step-memory.h"

#define STUDIO_TYPE_STEP_PICTURE (studio_step_picture_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepPicture, studio_step_picture, STUDIO, STEP_PICTURE, GtkWidget)

/* Signal "moment"(guint): the user has marked another moment; G_MAXUINT: none. */

/* NULL: there is none. (transfer full) */
void studio_step_picture_set (StudioStepPicture *self, StudioStepMemory *memory);
const StudioStepMemory *studio_step_picture_get (StudioStepPicture *self);
/* Marks a moment, G_MAXUINT: none; emits "moment". */
void studio_step_picture_mark (StudioStepPicture *self, guint moment);
guint studio_step_picture_get_moment (StudioStepPicture *self);
