/* The examples of operators (loom_op_example) as what can be shown, inserted and opened: with a place for each card. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* The example as a scene with places, for its picture (transfer full). */
StudioScene *studio_example_scene (const LoomOp *op);
/* The same as the text of a graph file (transfer full). */
char *studio_example_text (const LoomOp *op);
/* Puts it below what the shown scope has, in one step, and selects it. Errors: what pasting it would meet, as a module
 * that would come to hold itself. */
gboolean studio_example_insert (StudioDocument *document, const LoomOp *op, GError **error);

G_END_DECLS
