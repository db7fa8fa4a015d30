/* Trials: wires, moves and remedies are tried out on a copy of the graph before they are offered. Each kind of trial
 * has a budget of milliseconds, so that a large graph does not keep the user waiting; what was not tried is offered for
 * wires, and left out for remedies. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* Lets trials take as long as they need, for tests: what they find then does not depend on the machine's load. */
void studio_document_set_trials_unlimited (StudioDocument *self, gboolean unlimited);

G_END_DECLS
