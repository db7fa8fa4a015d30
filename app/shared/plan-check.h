/* `gradloom plan --check`: checks plans, of one rank or of all, and prints the faults of each with its name. */
#pragma once

#include "engine/loom-run.h"

/* An array of plans to check. (transfer full) */
GArray *plan_check_list_new (void);
/* Plans a program and adds the plan. name, such as "rank 1's training step", is copied. */
gboolean plan_check_add (GArray *plans, LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options,
                         const char *name, GError **error);
/* Adds a plan that was made with these options. (transfer full) plan */
void plan_check_take (GArray *plans, LoomPlan *plan, const LoomPlanOptions *options, const char *name);
/* Checks the plans of all steps and updates, including their meaning and, if are_all (they are those of all ranks), the
 * compatibility of their exchanges. Prints the faults, the passes that cause them and a verdict, as text or lines of
 * JSON. *ok receives whether there are no faults. FALSE with an error if the host's memory does not suffice. */
gboolean plan_check (const GArray *steps, const GArray *updates, LoomDevices *devices, gboolean are_all, gboolean json,
                     gboolean *ok, GError **error);
