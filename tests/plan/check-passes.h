/* Runs the planner's passes over a program with the working form checked behind each of them. */
#pragma once

#include "engine/plan/loom-plan.h"

/* NULL, or a sentence (to be freed) that names the pass and what is wrong behind it. A program that cannot be placed is
 * no fault here. */
char *check_passes (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options);
