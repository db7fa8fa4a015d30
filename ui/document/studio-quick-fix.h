/* Quick fixes of a document: finds them (engine/fix), and applies one as one step. */
#pragma once

#include "engine/fix/loom-fix.h"
#include "ui/document/studio-document-add.h"

/* The fixes for a fault of the net, the likeliest first; may be empty. For a card's button, serial is the card's.
 * (transfer full) */
GPtrArray *studio_document_find_fixes (StudioDocument *self, const LoomFault *fault, guint64 serial);
/* Applies a fix as one step; not an ASK, for which the user must enter a value. */
gboolean studio_document_apply_quick_fix (StudioDocument *self, const LoomFix *fix);
/* The position of the new node of an INSERT; FALSE for others, and if the wire no longer exists. */
gboolean studio_document_fix_place (StudioDocument *self, const LoomFix *fix, StudioAddPlace *place);
/* The first fix for the fault on the card; NULL if there is none. */
LoomFix *studio_document_first_fix (StudioDocument *self, guint64 serial);
