/* Keys on the canvas that are not accelerators: arrows, Tab, Escape, the space bar, and letters that begin a quick
 * addition. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* Adds controllers for them to the board's widget. */
void canvas_keys_add (CanvasBoard *board);
