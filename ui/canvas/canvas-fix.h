/* Applies a quick fix of a fault: edits the document, prompts for a value, or leads to the node that has to change. The
 * button below a card, the list of faults and the keyboard call it. */
#pragma once

#include "ui/canvas/canvas-board.h"
#include "ui/document/studio-quick-fix.h"

/* Applies a quick fix, or prompts for the value that it needs. */
void canvas_fix_apply (CanvasBoard *board, const LoomFix *fix);
/* Applies the first quick fix of a card. */
void canvas_fix_apply_first (CanvasBoard *board, guint64 serial);
