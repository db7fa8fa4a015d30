/* An executor that poisons memory: it writes NaN over every value as soon as it is dead by the plan, and over
 * workspaces after each kernel. A read of dead or unwritten memory then shows in the results. */
#pragma once

#include "engine/run/loom-eager.h"
#include "engine/run/loom-exec.h"

/* Runs `steps` steps of a plan over the state. feed[i]: the data of program input i. Returns the outputs (LoomTensor)
 * of the last step, or NULL with an error. */
GPtrArray *poison_run (LoomPlan *plan, LoomState *state, const void *const *feed, guint steps, GError **error);
/* Adds a copy of each slot of the state to results. */
void poison_append_state (LoomState *state, GPtrArray *results);
