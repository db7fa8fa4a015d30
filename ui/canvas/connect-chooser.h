/* Wiring by keyboard: a list of the ports that accept a wire of a card, and of new layers. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* item: of the scene, the card. */
void connect_chooser_open (CanvasBoard *board, guint item);
