/* Operators and modules that are dragged from the palette: a ghost while they are over the canvas, a card when they are
 * dropped. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* Adds the drop target to the board's widget. */
void canvas_drop_add (CanvasBoard *board);
