/* Copying the selection of a canvas to the clipboard, and pasting. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* Nothing happens if nothing is selected. */
void canvas_clipboard_copy (CanvasBoard *board);
/* Reads the clipboard and adds its nodes at this point in canvas units, NAN: next to the original. Focuses the first.
 */
void canvas_clipboard_paste (CanvasBoard *board, double x, double y);
