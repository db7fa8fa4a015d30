/* Tables of `gradloom plan`: --parameters, what model.named_parameters() shows in PyTorch, with the device that each
 * lies on; and --memory, what each node takes of a device's memory. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* A line each, in the program's order, and what they come to on each device; with json an object each. rank: whose part
 * of each it is; -1: there is one. */
void listing_print_parameters (const LoomPlan *plan, int rank, gboolean json);
/* The largest first. Either plan may be NULL. */
void listing_print_nodes (const LoomPlan *step, const LoomPlan *update, int rank, gboolean json);

G_END_DECLS
