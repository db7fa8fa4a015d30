/* Marks a run of another graph than the document's, such as one that has waited while the document was edited. */
#pragma once

#include "ui/document/studio-document.h"

/* As studio_document_mark_run(), for a run of this graph: the document then differs from it by at least one change,
 * unless both mean the same. */
void studio_document_mark_run_of (StudioDocument *self, const LoomGraph *graph);
