/* Turns instructions that change no byte into views of their operand, which need no kernel. A view of its operand's
 * shape is replaced by the operand, which can then be fused: detach is one. */
#include "engine/plan/plan-private.h"

static gboolean
is_view (PlanGraph *g, const PlanNode *instr)
{
  const LoomTensorDesc *a, *b;

  if (instr->steps != NULL || instr->prim->view != LOOM_VIEW_IF_SAME_SIZE)
    return instr->steps == NULL && instr->prim->view == LOOM_VIEW_ALWAYS;
  a = &graph_value (g, node_in (instr, 0))->desc;
  b = &graph_value (g, node_out (instr, 0))->desc;
  return a->dtype == b->dtype && loom_desc_count (a) == loom_desc_count (b);
}

static gboolean
is_identity (PlanGraph *g, const PlanNode *instr)
{
  const LoomTensorDesc *a = &graph_value (g, node_in (instr, 0))->desc,
                       *b = &graph_value (g, node_out (instr, 0))->desc;

  return a->dtype == b->dtype && plan_same_dims (a, b);
}

/* Between devices such an instruction becomes a copy, which the placement pass inserts. */
void
pass_find_views (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      if (!is_view (g, instr))
        continue;
      if (instr->device_name != graph_value (g, node_in (instr, 0))->device_name)
        {
          instr->is_transfer_only = TRUE;
          continue;
        }
      if (is_identity (g, instr))
        graph_replace (g, node_out (instr, 0), node_in (instr, 0));
      graph_set_alias (g, node_out (instr, 0), node_in (instr, 0));
      graph_erase (g, instr);
    }
}
