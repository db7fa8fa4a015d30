/* An executor of its own, which writes NaN over every value as soon as the plan says that it
 * is dead, and over workspaces after each kernel: whoever reads what is no longer there, or was never written, is found
 * by what comes out. */
#pragma once

#include "engine/run/loom-eager.h"
#include "engine/run/loom-exec.h"

/* Runs `steps` steps of a plan over the state. feed[i] is the data of program input i. Returns the outputs (LoomTensor)
 * of the last one; NULL with error when something fails. */
GPtrArray *poison_run (LoomPlan *plan, LoomState *state, const void *const *feed, guint steps, GError **error);
/* Adds a copy of each slot of the state to results. */
void poison_append_state (LoomState *state, GPtrArray *results);
