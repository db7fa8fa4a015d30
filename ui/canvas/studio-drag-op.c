#include "ui/canvas/studio-drag-op.h"

static StudioDragOp *
studio_drag_op_copy (StudioDragOp *op)
{
  return studio_drag_op_new (op->name, op->is_module);
}

static void
studio_drag_op_free (StudioDragOp *op)
{
  g_free (op->name);
  g_free (op);
}

StudioDragOp *
studio_drag_op_new (const char *name, gboolean is_module)
{
  StudioDragOp *op = g_new0 (StudioDragOp, 1);

  op->name = g_strdup (name);
  op->is_module = is_module;
  return op;
}

G_DEFINE_BOXED_TYPE (StudioDragOp, studio_drag_op, studio_drag_op_copy, studio_drag_op_free)
