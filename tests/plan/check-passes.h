/* Runs the planner's passes over a program and verifies the working form after each of them. */
#pragma once

#include "engine/plan/loom-plan.h"

/* NULL, or a sentence (to be freed) with the pass and the fault after it. A program that cannot be placed is no fault
 * here. */
char *check_passes (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options);
