/* Programs and plans as JSON, one object per line. docs/using-models.md lists the members, on which other tools rely.
 */
#pragma once

#include "engine/loom-run.h"

/* part: "step" or "update" (the end of a step with accumulation), in every object. */
void listing_print_program (const LoomProgram *program, const char *part);
/* {"event":"pass"}: the graph after a pass of the planner. */
void listing_print_pass (const LoomPlanPass *pass, const char *part);
void listing_print_plan (const LoomPlan *plan, const char *part);
/* {"event":"memory"} of one device: the plan's memory there by kind, and how much of it is in the arena. */
void listing_print_memory (const char *event, const char *part, const char *device, const gsize bytes[LOOM_N_OWNERS],
                           const LoomPlanMemory *memory);
