/* The pass that schedules instructions. It keeps their order, except that those that depend on neither inputs nor state
 * (but for fixed ones) come first: they run once, before the first step, or in each run of a loop. */
#include "engine/plan/plan-private.h"

gboolean
graph_is_fixed (PlanGraph *g, guint v)
{
  const PlanValue *root = graph_value (g, graph_root (g, v));

  return graph_is_fixed_input (g, root) || graph_is_fixed_weight (g, root)
         || (root->producer != NULL && root->producer->setup);
}

/* TRUE if the instruction can run before the first step. */
static gboolean
is_setup (PlanGraph *g, const PlanNode *instr)
{
  for (guint i = 0; i < instr->in->len; i++)
    if (node_in (instr, i) != 0 && !graph_is_fixed (g, node_in (instr, i)))
      return FALSE;
  return instr->prim != NULL && (instr->prim->flags & LOOM_PRIM_COLLECTIVE) == 0;
}

void
graph_find_setup (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    instr->setup = is_setup (g, instr);
}

void
pass_schedule (PlanGraph *g)
{
  for (int setup = 1; setup >= 0; setup--)
    for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
      if (instr->setup == setup)
        g_ptr_array_add (g->schedule, instr);
}
