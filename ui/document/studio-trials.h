/* Trials: wires, moves and fixes are tried on a copy of the graph before they are offered.
 *
 * Each kind of trial has a budget of milliseconds, so that a large graph does not keep the user waiting; untried wires
 * are offered, and untried fixes are not. Budgets are of processor time, so that the result does not depend on other
 * programs. */
#pragma once

#include "ui/document/studio-document.h"

/* Removes the time limit of trials, for tests, whose results then do not depend on the machine's load. */
void studio_document_set_trials_unlimited (StudioDocument *self, gboolean unlimited);

/* Returns the processor time that this thread has used, in microseconds. */
gint64 studio_trials_clock (void);
