/* A small canvas to draw a sample on: white on black, as many pixels as the data's pictures have.
 *
 * The pointer draws, with the secondary button or Ctrl it erases. Arrow keys move a pen over the pixels, Space draws,
 * and Delete clears. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_DRAWING_PAD (studio_drawing_pad_get_type ())
G_DECLARE_FINAL_TYPE (StudioDrawingPad, studio_drawing_pad, STUDIO, DRAWING_PAD, GtkWidget)

/* Signal "drawn": the pixels have changed. */

/* Clears the pad if the size changes. */
void studio_drawing_pad_set_size (StudioDrawingPad *self, guint width, guint height);
void studio_drawing_pad_clear (StudioDrawingPad *self);
/* width × height numbers from 0 to 1, row major. */
const float *studio_drawing_pad_get_pixels (StudioDrawingPad *self);
/* Replaces the pixels, without a signal. */
void studio_drawing_pad_set_pixels (StudioDrawingPad *self, const float *pixel);
