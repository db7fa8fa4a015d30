/* Draws the hints of a gesture over the cards: guides of a moved card, the box that selects, the loose wires,
 * the line that cuts, and why a port takes no wire. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/canvas-gesture.h"
#include "ui/drawing/studio-theme.h"

/* One picture of the canvas, for the functions below. */
typedef struct
{
  GtkSnapshot *snapshot;
  const StudioScene *scene;
  const StudioView *view;
  const StudioTheme *theme;
} CanvasFrame;

/* The wire that is being drawn, from its fixed port to the pointer or the port under it. */
void canvas_hints_draw_wire (const CanvasFrame *frame, const StudioGesture *gesture);
/* The lines that a moved card has snapped to, or the box. */
void canvas_hints_draw_drag (const CanvasFrame *frame, const StudioGesture *gesture);
/* The line that cuts, and the other wires of a port that is moved. */
void canvas_hints_draw_lines (const CanvasFrame *frame, const StudioGesture *gesture);
/* A sentence next to the pointer at x, y in pixels, inside the view. context: of the widget. */
void
canvas_hints_draw_refusal (const CanvasFrame *frame, const char *sentence, PangoContext *context, double x, double y);
