/* The pass that schedules instructions. It keeps their order, except that those that depend on neither inputs (but for
 * fixed ones) nor state come first: they run once, before the first step, or in each run of a loop. */
#include "engine/plan/plan-private.h"

/* TRUE if the instruction can run before the first step. */
static gboolean
is_setup (PlanGraph *g, const PlanNode *instr)
{
  for (guint i = 0; i < instr->in->len; i++)
    {
      const PlanValue *v;

      if (node_in (instr, i) == 0)
        continue;
      v = graph_value (g, graph_root (g, node_in (instr, i)));
      if (graph_is_fixed_input (g, v))
        continue;
      if (v->producer == NULL || !v->producer->setup)
        return FALSE;
    }
  return instr->prim != NULL && (instr->prim->flags & LOOM_PRIM_COLLECTIVE) == 0;
}

void
pass_schedule (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    instr->setup = is_setup (g, instr);
  for (int setup = 1; setup >= 0; setup--)
    for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
      if (instr->setup == setup)
        g_ptr_array_add (g->schedule, instr);
}
