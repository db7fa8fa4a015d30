/* The picture of a canvas: grid, annotations, wires, cards, marks, legends and hints, from the lowest to the highest.
 */
#pragma once

#include "ui/canvas/canvas-board.h"

void canvas_drawing_snapshot (CanvasBoard *board, GtkSnapshot *snapshot);
