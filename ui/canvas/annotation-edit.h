/* Editing the text of a note or the title of a frame in place, in a popover: one transaction when it closes. */
#pragma once

#include "ui/canvas/canvas-board.h"

/* index: of the annotation in the scene. */
void annotation_edit_open (CanvasBoard *board, guint index);
/* Adds a note at a point in canvas units, and edits it. */
void annotation_edit_add_note (CanvasBoard *board, double x, double y);
/* Adds a frame around the selection, or in the middle of the view, and edits its title. */
void annotation_edit_add_frame (CanvasBoard *board);
