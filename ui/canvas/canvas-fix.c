#include "ui/canvas/canvas-fix.h"

#include "ui/canvas/quick-add.h"

void
canvas_fix_apply (CanvasBoard *board, const LoomFix *fix)
{
  canvas_landing_forget (board->landing);
  if (fix->kind == LOOM_FIX_ASK)
    quick_add_prompt (board, fix->node, fix->port);
  else if (fix->kind == LOOM_FIX_OPEN)
    canvas_board_focus_path (board, fix->value);
  else
    studio_document_apply_quick_fix (board->document, fix);
}

void
canvas_fix_apply_first (CanvasBoard *board, guint64 serial)
{
  LoomFix *fix = studio_document_first_fix (board->document, serial);

  if (fix == NULL || fix->kind == LOOM_FIX_OWN)
    {
      canvas_landing_forget (board->landing);
      studio_document_apply_fix (board->document, serial);
    }
  else
    canvas_fix_apply (board, fix);
  g_clear_pointer (&fix, loom_fix_free);
}
