/* Arranges and aligns the selection: one undo step. Separate from studio-document.h, because most users of that need no
 * geometry. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/layout/studio-align.h"
#include "ui/layout/studio-layout.h"

/* Arranges every node of the scope for a canvas of this size, or only the selected ones if there are several and no
 * direction is requested. FALSE: only those. */
gboolean studio_document_arrange (StudioDocument *self, double width, double height, StudioLayoutDirection direction);
/* Moves a card of the scene by this distance in the graph's direction. */
void studio_document_place_on (StudioDocument *self, const StudioScene *scene, guint item, double by);
/* Folds the selected cards to their titles, and collapses selected frames; if all are folded already, unfolds them.
 * FALSE if no card is selected. */
gboolean studio_document_fold_selection (StudioDocument *self);
/* Collapses the selected frames to cards, or expands them if all are collapsed; FALSE if none is selected, or none
 * contains a card. */
gboolean studio_document_fold_frames (StudioDocument *self);
/* Aligns or distributes the selected cards, frames and notes. A frame moves its contents. */
void studio_document_align (StudioDocument *self, StudioAlign how);

/* For a card dropped on a wire, to be wired at this input: if it would cover another card, moves it (dx, dy) into the
 * row after the wire's source, and returns the distances by which the other items move. NULL: it can stay where it was
 * dropped. */
double *
studio_document_make_space (const StudioScene *scene, guint item, guint link, guint input, double *dx, double *dy);
