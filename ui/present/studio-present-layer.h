/* The layer over the canvas in a lecture: the pointer as a spotlight, and a pen. While the pen is put away the layer
 * lets every press through. */
#pragma once

#include "ui/canvas/studio-canvas.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_PRESENT_LAYER (studio_present_layer_get_type ())
G_DECLARE_FINAL_TYPE (StudioPresentLayer, studio_present_layer, STUDIO, PRESENT_LAYER, GtkWidget)

typedef enum
{
  STUDIO_TOOL_NONE,
  STUDIO_TOOL_PEN,
  STUDIO_TOOL_ERASER
} StudioTool;

/* Signal "changed": another tool is in the hand, the spotlight was switched, or a stroke came or went.
 *
 * To be laid over the canvas. */
StudioPresentLayer *studio_present_layer_new (StudioCanvas *canvas);

void studio_present_layer_set_spotlight (StudioPresentLayer *self, gboolean on);
gboolean studio_present_layer_get_spotlight (StudioPresentLayer *self);
void studio_present_layer_set_tool (StudioPresentLayer *self, StudioTool tool);
StudioTool studio_present_layer_get_tool (StudioPresentLayer *self);
/* 0 … STUDIO_INK_COLOURS - 1; of the strokes that follow. */
void studio_present_layer_set_colour (StudioPresentLayer *self, guint colour);
guint studio_present_layer_n_strokes (StudioPresentLayer *self);
void studio_present_layer_clear (StudioPresentLayer *self);

G_END_DECLS
