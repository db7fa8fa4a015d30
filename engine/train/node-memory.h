/* The memory of a run by node: the allocated state, and for the plans, which share one arena, the bytes that are live
 * at the peak of the largest one. */
#pragma once

#include "engine/train/step-plans.h"

/* A line of JSON for each node, the largest first: the members of loom_node_bytes_add_json(). snapshots (may be NULL)
 * computes for observers; is_apart: over a copy of the state, with an arena of its own. held: the memory of the run by
 * owner, which is the sum of the lines. (transfer full) */
char *node_memory_text (const StepPlans *steps, const LoomExec *snapshots, gboolean is_apart, const char *device,
                        const gsize held[LOOM_N_OWNERS]);
