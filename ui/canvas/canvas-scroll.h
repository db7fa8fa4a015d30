/* Handles hovering, scrolling and pinching on a canvas: highlights what is under the pointer, pans and zooms. */
#pragma once

#include "ui/canvas/canvas-board.h"

G_BEGIN_DECLS

/* Adds controllers for them to the board's widget. */
void canvas_scroll_add (CanvasBoard *board);

G_END_DECLS
