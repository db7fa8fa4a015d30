/* The content of a drag from the palette: the name of an operator or a module. */
#pragma once

#include <glib-object.h>

#define STUDIO_TYPE_DRAG_OP (studio_drag_op_get_type ())

typedef struct
{
  char *name;
  gboolean is_module;
} StudioDragOp;

GType studio_drag_op_get_type (void);
StudioDragOp *studio_drag_op_new (const char *name, gboolean is_module);
