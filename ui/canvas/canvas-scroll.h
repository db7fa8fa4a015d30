/* Handles hovering, scrolling and pinching on a canvas: highlights what is under the pointer, pans and zooms. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* Adds controllers for them to the board's widget. */
void canvas_scroll_add (CanvasBoard *board);
