#include "ui/canvas/canvas-fix.h"

#include "ui/canvas/quick-add.h"

void
canvas_fix_apply (CanvasBoard *board, const StudioMend *mend)
{
  canvas_landing_forget (board->landing);
  if (mend->kind == STUDIO_MEND_ASK)
    quick_add_prompt (board, mend->node, mend->port);
  else if (mend->kind == STUDIO_MEND_OPEN)
    canvas_board_focus_path (board, mend->value);
  else
    studio_document_apply_mend (board->document, mend);
}

void
canvas_fix_apply_first (CanvasBoard *board, guint64 serial)
{
  StudioMend *mend = studio_document_first_mend (board->document, serial);

  if (mend == NULL || mend->kind == STUDIO_MEND_FIX)
    {
      canvas_landing_forget (board->landing);
      studio_document_apply_fix (board->document, serial);
    }
  else
    canvas_fix_apply (board, mend);
  g_clear_pointer (&mend, studio_mend_free);
}
