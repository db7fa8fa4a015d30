/* Hovering, scrolling and pinching on a canvas. */
#pragma once

#include "ui/canvas/canvas-board.h"

G_BEGIN_DECLS

/* Adds controllers for them to the board's widget. */
void canvas_scroll_add (CanvasBoard *board);

G_END_DECLS
