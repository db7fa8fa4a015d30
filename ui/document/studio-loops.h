/* Modules that are run by loops, branches and along trees. */
#pragma once

#include "engine/loom.h"
#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* The selected modules become bodies: run once for each step of a sequence, as one of several, or along trees; where
 * all of them are bodies, modules again (of several the first). FALSE where none is selected. */
gboolean studio_document_run_selection (StudioDocument *self, LoomLoopKind kind);
/* Enters the n-th of the modules that a switch chooses from. FALSE where there is none. */
gboolean studio_document_enter_body (StudioDocument *self, guint64 serial, guint body);

G_END_DECLS
