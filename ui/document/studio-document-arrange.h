/* Aligning what is selected: one step to undo. Apart from studio-document.h, whose readers need no geometry. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/layout/studio-align.h"

G_BEGIN_DECLS

/* Brings the selected cards, frames and notes onto one line, or apart evenly. A frame takes along what it holds. */
void studio_document_align (StudioDocument *self, StudioAlign how);

/* A card that is dropped on a wire, to be wired into it at this input: where it would hide another card, it goes into
 * the row behind the wire's beginning instead (dx, dy), and the other items move by what is returned to make room.
 * NULL: it may lie where it was dropped. */
double *
studio_document_make_room (const StudioScene *scene, guint item, guint link, guint input, double *dx, double *dy);

G_END_DECLS
