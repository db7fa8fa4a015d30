/* Commands about one layer: watch it, stop at it, show its documentation, insert the example of an operator. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/palette/studio-palette.h"
#include "ui/pins/studio-pin.h"
#include "ui/stepper/studio-breakpoints.h"
#include "ui/stepper/studio-instant.h"
#include "ui/stepper/studio-stepper.h"

typedef struct
{
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioPalette *palette;
  StudioPins *pins;
  StudioBreakpoints *breakpoints;
  StudioRun *run;
  StudioStepper *stepper;
  StudioInstant *instant;
  GtkWidget *toasts; /* an AdwToastOverlay for sentences */
} StudioLayerCommands;

void studio_layer_commands_watch (const StudioLayerCommands *self);
void studio_layer_commands_watch_gradient (const StudioLayerCommands *self);
/* Asks for the condition of a breakpoint at the selected layer. */
void studio_layer_commands_break (const StudioLayerCommands *self);
/* Shows the chain rule for a number of the selected layer's output. */
void studio_layer_commands_derivatives (const StudioLayerCommands *self);
/* Activates win.documentation-of with the operator of the selected layer. */
void studio_layer_commands_show_documentation (const StudioLayerCommands *self);
/* Inserts the example of an operator below the graph, in one step. */
void studio_layer_commands_insert_example_of (const StudioLayerCommands *self, const char *op);
/* The operator of the selected layer if the focus is on the canvas, or the focused one of the palette; or NULL. */
const LoomOp *studio_layer_commands_get_op_at_focus (const StudioLayerCommands *self);
