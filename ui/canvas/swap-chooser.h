/* A search over the operators that can replace a layer and keep its wires: the chosen one is swapped in. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* For the layer that keys act on. */
void swap_chooser_open (CanvasBoard *board);
