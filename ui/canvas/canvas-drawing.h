/* The picture of a canvas: grid, annotations, wires, cards, marks, legends and hints, from the lowest to the highest.
 */
#pragma once

#include "ui/canvas/canvas-board.h"

G_BEGIN_DECLS

void canvas_drawing_snapshot (CanvasBoard *board, GtkSnapshot *snapshot);

G_END_DECLS
