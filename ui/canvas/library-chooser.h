/* The library of modules from the canvas: a search over it that adds a module, and saving a module to it. */
#pragma once

#include "ui/canvas/canvas-board.h"

void library_chooser_open (CanvasBoard *board);
/* Saves the definition of the module that keys act on, and reports where. */
void library_chooser_save (CanvasBoard *board);
