/* Tables of `gradloom plan`: --parameters, model.named_parameters() of PyTorch with the device of each; and
 * --memory, the device memory of each node. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* A line each, in the program's order, and what they come to on each device; with json an object each. rank: whose part
 * of each it is; -1: there is one. */
void listing_print_parameters (const LoomPlan *plan, int rank, gboolean json);
/* The largest first. Either plan may be NULL. */
void listing_print_nodes (const LoomPlan *step, const LoomPlan *update, int rank, gboolean json);

G_END_DECLS
