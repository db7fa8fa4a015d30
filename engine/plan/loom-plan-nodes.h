/* Memory by node: whose the bytes are that loom_plan_memory() counts by owner alone. */
#pragma once

#include "engine/core/loom-json.h"
#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

/* What one node takes of a device's memory. */
typedef struct
{
  const char *node;   /* its path, interned; NULL: what is of no node, as learning rates and what ranks exchange */
  const char *device; /* interned: "cpu" */
  gsize bytes[LOOM_N_OWNERS], total;
} LoomNodeBytes;

/* A table that plans are added to. Of one plan the rows of a device come to loom_plan_memory_sum().
 * An optimiser's states are their parameter's node's; bytes that one value takes over from another are the first one's
 * node's. */
typedef struct _LoomNodes LoomNodes;
LoomNodes *loom_nodes_new (void);
void loom_nodes_free (LoomNodes *nodes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomNodes, loom_nodes_free)
/* Plans over one state: a slot is counted once, what each makes once is added up, and of the arena that they share on a
 * device the plan with the largest counts, at the moment of its peak. NULL among them is none. */
void loom_nodes_add_plans (LoomNodes *nodes, guint n, const LoomPlan *const *plans);
/* node NULL: of none */
void loom_nodes_add (LoomNodes *nodes, const char *node, const char *device, LoomOwner owner, gsize bytes);
/* LoomNodeBytes, the largest first. (transfer container): rows are the table's. */
GPtrArray *loom_nodes_list (const LoomNodes *nodes);
/* Members "node", "device", one for each owner, and "bytes", for all. */
void loom_node_bytes_add_json (const LoomNodeBytes *row, LoomJson *json);

G_END_DECLS
