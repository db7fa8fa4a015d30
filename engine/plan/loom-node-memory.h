/* Memory by graph node: splits the bytes of loom_plan_memory() by node as well as by owner. The header also declares
 * the list of the nodes that slots belong to. */
#pragma once

#include "engine/core/loom-json.h"
#include "engine/plan/loom-plan.h"

/* The bytes that one node uses on a device. */
typedef struct
{
  const char *node;   /* its path, interned; NULL: bytes of no node, such as learning rates and exchange buffers */
  const char *device; /* interned: "cpu" */
  gsize bytes[LOOM_N_OWNERS], total;
} LoomNodeBytes;

/* A table of memory by node, to which plans are added. The rows of one plan and device add up to
 * loom_plan_memory_sum(). The state of an optimizer counts for the node of its parameter. If an instruction overwrites
 * an operand with its result, the bytes count for the operand's node. */
typedef struct _LoomNodeMemory LoomNodeMemory;
LoomNodeMemory *loom_node_memory_new (void);
void loom_node_memory_free (LoomNodeMemory *nodes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomNodeMemory, loom_node_memory_free)
/* Adds plans that share a state. Each slot is counted once, and setup results are added up. The plans share one arena,
 * so only the plan with the largest arena counts, at its peak. NULL elements are skipped. */
void loom_node_memory_add_plans (LoomNodeMemory *nodes, guint n, const LoomPlan *const *plans);
/* node NULL: the bytes belong to no node */
void loom_node_memory_add (LoomNodeMemory *nodes, const char *node, const char *device, LoomOwner owner, gsize bytes);
/* LoomNodeBytes, largest first. (transfer container): the table owns the rows. */
GPtrArray *loom_node_memory_list (const LoomNodeMemory *nodes);
/* Adds members "node", "device", one for each owner, and "bytes" for the total. */
void loom_node_bytes_add_json (const LoomNodeBytes *row, LoomJson *json);

/* The node paths of a program's slots, in order; NULL for a slot of no node. (transfer container) */
GPtrArray *loom_slot_nodes (const LoomProgram *program);
