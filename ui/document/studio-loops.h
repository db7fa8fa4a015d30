/* Makes modules the bodies of loops, switches and trees, and enters such a body. */
#pragma once

#include "engine/loom.h"
#include "ui/document/studio-document.h"

/* Makes the selected modules bodies: run once for each step of a sequence, as one of several, or along trees; if all of
 * them are bodies, makes them modules again (for several bodies the first). FALSE if none is selected. */
gboolean studio_document_run_selection (StudioDocument *self, LoomLoopKind kind);
/* Enters the n-th module of a switch. FALSE if there is none. */
gboolean studio_document_enter_body (StudioDocument *self, guint64 serial, guint body);
