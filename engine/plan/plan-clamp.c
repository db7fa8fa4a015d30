/* The pass that simplifies bounds. clamp lowers to select (x > c, x, max (x, c)), whose gradient flows inside the
 * bounds alone; its value is max (x, c), bit for bit and for NaN too. */
#include "engine/plan/plan-private.h"

/* The value that v is, if it is only detached from it. */
static guint
attached (PlanGraph *g, guint v)
{
  const PlanNode *from = graph_value (g, v)->producer;

  return from != NULL && node_is (from, "detach") ? node_in (from, 0) : v;
}

/* TRUE if the step computes op of a and b. */
static gboolean
is_step_of (PlanGraph *g, guint v, LoomScalarOp op, guint a, guint b)
{
  const PlanNode *from = graph_value (g, v)->producer;

  return from != NULL && node_is_step (from, op) && attached (g, node_step (from, 0)->arg[0]) == a
         && node_step (from, 0)->arg[1] == b;
}

/* The value that equals the select; 0: none. */
static guint
bounded_value (PlanGraph *g, const PlanNode *select)
{
  const PlanStep *step = node_step (select, 0);
  const guint x = step->arg[1], bounded = step->arg[2];
  const PlanNode *mask = graph_value (g, step->arg[0])->producer;
  const gboolean below = mask != NULL && node_is_step (mask, LOOM_SCALAR_LT);
  guint limit;

  if (mask == NULL || (!below && !node_is_step (mask, LOOM_SCALAR_GT)) || node_step (mask, 0)->arg[0] != x)
    return 0;
  limit = node_step (mask, 0)->arg[1];
  return is_step_of (g, bounded, below ? LOOM_SCALAR_MIN : LOOM_SCALAR_MAX, x, limit)
                 && plan_same_dims (&graph_value (g, bounded)->desc, &graph_value (g, node_out (select, 0))->desc)
                 && graph_value (g, bounded)->desc.dtype == graph_value (g, node_out (select, 0))->desc.dtype
             ? bounded
             : 0;
}

void
pass_simplify_bounds (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g), *next; instr != NULL; instr = next)
    {
      guint bounded = node_is_step (instr, LOOM_SCALAR_SELECT) ? bounded_value (g, instr) : 0;

      next = node_next (instr);
      if (bounded == 0 || instr->device_name != graph_value (g, bounded)->producer->device_name)
        continue;
      graph_replace (g, node_out (instr, 0), bounded);
      graph_erase (g, instr);
    }
}
