/* How many ranks a graph is for: what its <parallel> says of them. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_RUN_MOST_RANKS 16 /* that the field offers */

/* The number that it says; 1 where it leaves that to who trains, or cannot be trained yet. */
int studio_run_fit_wanted (StudioDocument *document);
/* The number to be set where somebody who had one chose another: that, or where it does not fit and was one step away,
 * the next that does in this direction, up to most. 0 with a sentence where there is none. */
int studio_run_fit_choose (StudioDocument *document, int had, int chosen, int most, char **sentence);

G_END_DECLS
