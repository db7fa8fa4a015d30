/* Presses, drags and double clicks on a canvas: GTK's events into the state machine of canvas-gesture. */
#pragma once

#include "ui/canvas/canvas-board.h"

typedef struct _CanvasPointer CanvasPointer;

/* Adds controllers to the board's widget, with which they go: the pointer is freed after it. */
CanvasPointer *canvas_pointer_new (CanvasBoard *board);
/* The widget is disposed of. */
void canvas_pointer_stop (CanvasPointer *self);
void canvas_pointer_free (CanvasPointer *self);
