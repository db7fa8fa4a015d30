/* Programs and plans as JSON, one object a line. docs/using-models.md lists the members, on which other tools rely. */
#pragma once

#include "engine/loom-run.h"

G_BEGIN_DECLS

/* part: "step" or "update" (what ends a step that accumulates), in every object. */
void listing_print_program (const LoomProgram *program, const char *part);
/* {"event":"pass"}: what a pass on the way to the plan left. */
void listing_print_pass (const LoomPlanPass *pass, const char *part);
void listing_print_plan (const LoomPlan *plan, const char *part);
/* {"event":"memory"} of one device: the plan's memory there by kind, and the part of it in its arena. */
void listing_print_memory (const char *event, const char *part, const char *device, const gsize bytes[LOOM_N_OWNERS],
                           const LoomPlanMemory *memory);

G_END_DECLS
