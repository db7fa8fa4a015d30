/* Describes the chips of a card in a step in words, for screen readers. */
#pragma once

#include "ui/stepper/step-chips.h"
#include "ui/stepper/studio-breakpoints.h"

/* Its chips, its breakpoint, and those of nodes inside it with their path: "value 0.12 ± 0.4, gradient 0.03; stops
 * training if a value is equal to 0". NULL: none. (transfer full) */
char *step_words_of (const StudioItem *item, GHashTable *chips, StudioBreakpoints *breakpoints);
