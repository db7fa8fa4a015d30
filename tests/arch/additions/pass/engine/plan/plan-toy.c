/* The negative of a negative is the number itself. */
#include "engine/plan/plan-private.h"

void
pass_drop_negatives (PlanGraph *w)
{
  for (PlanNode *instr = graph_first (w), *next; instr != NULL; instr = next)
    {
      const PlanNode *inner
          = node_is_step (instr, LOOM_SCALAR_NEG) ? graph_value (w, node_in (instr, 0))->producer : NULL;

      next = node_next (instr);
      if (inner == NULL || !node_is_step (inner, LOOM_SCALAR_NEG))
        continue;
      graph_replace (w, node_out (instr, 0), node_in (inner, 0));
      graph_erase (w, instr);
    }
}
