/* The steps of a plan as views list them: the nodes and the expected time of each instruction, and the memory that is
 * alive while it runs. `gradloom plan --steps` and Studio's pane of what runs show the same. */
#pragma once

#include "engine/plan/loom-plan.h"

/* The nodes that an instruction computes after fusions, the one that names it first. (transfer none) */
const GPtrArray *loom_plan_instr_nodes (const LoomPlan *plan, guint instr);

/* A block of memory, with the instructions between which it is alive. */
typedef struct
{
  const char *node; /* the node of the value for which it was made; NULL: none */
  guint device;
  LoomOwner owner;
  gsize bytes;
  guint first, last; /* positions of instructions */
  gboolean is_fixed; /* outside the arena, alive all the time: a setup result, or an input that is read in place */
} LoomPlanStorage;

/* Storages of all devices; slots are not among them. */
guint loom_plan_n_storages (const LoomPlan *plan);
const LoomPlanStorage *loom_plan_storage (const LoomPlan *plan, guint i);

/* The bytes by owner that are alive on a device while each instruction runs: state, setup results and the live blocks
 * of the arena. Row i, of LOOM_N_OWNERS elements, is instruction i's. The largest sum of a row is that of
 * loom_plan_memory_sum(). Blocks on different lanes may share bytes; these count once, for the owner with fewer bytes.
 * (transfer full) */
gsize *loom_plan_memory_along (const LoomPlan *plan, guint device);

/* The origin of an instruction's seconds. */
typedef enum
{
  LOOM_SECONDS_UNKNOWN,   /* an exchange, a copy between devices, or a loop */
  LOOM_SECONDS_ESTIMATED, /* from the rates of the cost table */
  LOOM_SECONDS_MEASURED   /* by `gradloom bench --tune` on this device */
} LoomSecondsKind;

/* The expected seconds of one run of an instruction, by the cost table of the plan's devices. Nothing is timed. */
LoomSecondsKind loom_plan_seconds (const LoomPlan *plan, const LoomPlanInstr *instr, double *seconds);
