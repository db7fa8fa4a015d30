/* Reports whether the net of a document is up to date with its graph. */
#pragma once

#include "ui/document/studio-document.h"

/* TRUE if there is a net of the present graph. In the middle of an edit there is none: studio_document_get_net() would
 * make one that is about to change, and "net-changed" follows when the edit is over. */
gboolean studio_document_has_net (StudioDocument *self);
