/* The bar that offers what an agent proposes for the file of a document (engine/runs/loom-proposal.h).
 *
 * A proposal changes nothing until the user asks to see it. It is then the content of the document, as one step that
 * can be undone, with the differences marked on the canvas; shapes, memory and gradients are those that Studio
 * computes. Buttons activate win.show-proposal, win.accept-proposal, win.refuse-proposal and win.check-gradients. */
#pragma once

#include <adwaita.h>

#include "ui/page/studio-comparing.h"

#define STUDIO_TYPE_PROPOSAL_BAR (studio_proposal_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioProposalBar, studio_proposal_bar, STUDIO, PROPOSAL_BAR, AdwBin)

/* Property "shown" (read-only): there is a proposal; also notified when it is accepted or shown on the canvas. Signal
 * "say"(sentence). Call once. */
void studio_proposal_bar_set (StudioProposalBar *self, StudioDocument *document, StudioComparing *comparing);
gboolean studio_proposal_bar_is_shown (StudioProposalBar *self);
/* narrow: the buttons are below the sentence. */
void studio_proposal_bar_set_narrow (StudioProposalBar *self, gboolean narrow);
/* The graph on the canvas is the proposed one. */
gboolean studio_proposal_bar_is_on (StudioProposalBar *self);
void studio_proposal_bar_show (StudioProposalBar *self);
void studio_proposal_bar_accept (StudioProposalBar *self);
void studio_proposal_bar_refuse (StudioProposalBar *self);
