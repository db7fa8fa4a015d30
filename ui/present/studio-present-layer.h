/* The overlay of the canvas in a presentation: a spotlight and a pen. Without the pen it passes all events through. */
#pragma once

#include "ui/canvas/studio-canvas.h"

#define STUDIO_TYPE_PRESENT_LAYER (studio_present_layer_get_type ())
G_DECLARE_FINAL_TYPE (StudioPresentLayer, studio_present_layer, STUDIO, PRESENT_LAYER, GtkWidget)

typedef enum
{
  STUDIO_TOOL_NONE,
  STUDIO_TOOL_PEN,
  STUDIO_TOOL_ERASER
} StudioTool;

/* Signal "changed": another tool, the spotlight was switched, or a stroke was added or removed. */
StudioPresentLayer *studio_present_layer_new (StudioCanvas *canvas);

void studio_present_layer_set_spotlight (StudioPresentLayer *self, gboolean on);
gboolean studio_present_layer_get_spotlight (StudioPresentLayer *self);
void studio_present_layer_set_tool (StudioPresentLayer *self, StudioTool tool);
StudioTool studio_present_layer_get_tool (StudioPresentLayer *self);
/* Colour of the next strokes, 0 … STUDIO_INK_COLOURS - 1. */
void studio_present_layer_set_colour (StudioPresentLayer *self, guint colour);
guint studio_present_layer_n_strokes (StudioPresentLayer *self);
void studio_present_layer_clear (StudioPresentLayer *self);
