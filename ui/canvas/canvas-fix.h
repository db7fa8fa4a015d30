/* Quick fixes of faults, from the button below a card, the list of faults and the keyboard. */
#pragma once

#include "ui/canvas/canvas-board.h"
#include "ui/document/studio-quick-fix.h"

G_BEGIN_DECLS

/* Applies a quick fix, or prompts for the value that it needs. */
void canvas_fix_apply (CanvasBoard *board, const StudioFix *fix);
/* Applies the first quick fix of a card. */
void canvas_fix_apply_first (CanvasBoard *board, guint64 serial);

G_END_DECLS
