/* `gradloom plan --steps`: the instructions of a plan by phase, with buffers, kernel, bytes and milliseconds, and the
 * memory along a step. Studio's pane of what runs reads the JSON. */
#pragma once

#include "engine/loom-run.h"

/* part: "step" or "update". times: of a recorded step, or NULL; then the times of the cost table are listed. */
void listing_print_steps (const LoomPlan *plan, const char *part, LoomTraceTimes *times);
/* The same as events, one per line: "step" for each instruction, "storage" for each block of memory. */
void listing_append_steps (const LoomPlan *plan, const char *part, LoomTraceTimes *times, GString *events);
