/* The examples of operators (loom_op_example) with positions of cards, to be shown, inserted or opened. */
#pragma once

#include "ui/document/studio-document.h"

/* The example as a scene with positions, for its picture (transfer full). */
StudioScene *studio_example_scene (const LoomOp *op);
/* The same as the text of a graph file (transfer full). */
char *studio_example_text (const LoomOp *op);
/* Inserts it below the contents of the shown scope, in one step, and selects it. Errors: those of a paste, for example
 * if a module would contain itself. */
gboolean studio_example_insert (StudioDocument *document, const LoomOp *op, GError **error);
