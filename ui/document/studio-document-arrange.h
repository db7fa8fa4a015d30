/* Arranging, and aligning what is selected: one step to undo. Apart from studio-document.h, whose readers need no
 * geometry. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/layout/studio-align.h"
#include "ui/layout/studio-layout.h"

G_BEGIN_DECLS

/* Places every node of the scope as it suits a canvas of this size, or the selected ones where several are and no
 * direction is asked for. FALSE: those alone. */
gboolean studio_document_arrange (StudioDocument *self, double width, double height, StudioLayoutDirection direction);
/* Places a card of the scene so much further in the graph's direction. */
void studio_document_place_on (StudioDocument *self, const StudioScene *scene, guint item, double by);
/* Folds the selected cards to their titles, and selected frames to a card; all of them are folded already: opens them.
 * FALSE where no card is selected. */
gboolean studio_document_fold_selection (StudioDocument *self);
/* Collapses the selected frames to cards, or opens them where all are; FALSE where there is none, or no card in it. */
gboolean studio_document_fold_frames (StudioDocument *self);
/* Brings the selected cards, frames and notes onto one line, or apart evenly. A frame takes along what it holds. */
void studio_document_align (StudioDocument *self, StudioAlign how);

/* A card that is dropped on a wire, to be wired into it at this input: where it would hide another card, it goes into
 * the row behind the wire's beginning instead (dx, dy), and the other items move on by what is returned to make room.
 * NULL: it may lie where it was dropped. */
double *
studio_document_make_room (const StudioScene *scene, guint item, guint link, guint input, double *dx, double *dy);

G_END_DECLS
