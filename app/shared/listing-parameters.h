/* Tables of `gradloom plan`: --parameters (named_parameters() of PyTorch, with the device of each), and --memory (the
 * device memory of each node). */
#pragma once

#include "engine/loom-run.h"

/* Prints a line for each parameter, in the program's order, and the sum of each device; with json an object for each.
 * rank: the rank of these shards; -1: a single rank. */
void listing_print_parameters (const LoomPlan *plan, int rank, gboolean json);
/* The largest first. Either plan may be NULL. */
void listing_print_nodes (const LoomPlan *step, const LoomPlan *update, int rank, gboolean json);
