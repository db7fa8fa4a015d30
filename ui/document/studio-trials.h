/* Trials: wires, moves and remedies are tried out on a copy of the graph before they are offered. Each kind of trial
 * has a budget of milliseconds, so that a large graph does not keep the user waiting; what was not tried is offered for
 * wires, and left out for remedies. Budgets are of processor time: what is offered does not depend on other programs.
 */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* Lets trials take as long as they need, for tests: what they find then does not depend on the machine's load. */
void studio_document_set_trials_unlimited (StudioDocument *self, gboolean unlimited);

/* Returns the processor time that this thread has used, in microseconds. */
gint64 studio_trials_clock (void);

G_END_DECLS
