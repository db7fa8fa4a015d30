/* Aligning what is selected: one step to undo. Apart from studio-document.h, whose readers need no geometry. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/layout/studio-align.h"

G_BEGIN_DECLS

/* Brings the selected cards, frames and notes onto one line, or apart evenly. A frame takes along what it holds. */
void studio_document_align (StudioDocument *self, StudioAlign how);

G_END_DECLS
