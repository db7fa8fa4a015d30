/* Folds transposes into products: a product can read a transposed operand at no cost, so a permute that only swaps the
 * last two axes is removed. */
#include "engine/plan/plan-private.h"

static gboolean
swaps_last_axes (const LoomPermuteAttrs *p, int rank)
{
  for (int r = 0; r < rank; r++)
    if (p->perm[r] != (r == rank - 1 ? rank - 2 : r == rank - 2 ? rank - 1 : r))
      return FALSE;
  return TRUE;
}

/* Makes operand k the untransposed v; changes nothing if the device has no such product. */
static void
fold (PlanGraph *g, PlanNode *instr, guint k, guint v)
{
  LoomMatmulAttrs *attrs = instr->attrs;
  bool *trans = k == 0 ? &attrs->trans_a : &attrs->trans_b;
  guint in[3] = { 0 }, n = MIN (instr->in->len, 3);

  for (guint i = 0; i < n; i++)
    in[i] = i == k ? v : node_in (instr, i);
  *trans = !*trans;
  if (graph_has_kernel (g, instr, n, in, instr->out->len, (const guint *)(const void *)instr->out->data))
    graph_set_in (g, instr, k, v);
  else
    *trans = !*trans;
}

void
pass_fold_transposes (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    for (guint k = 0; k < 2 && node_is (instr, "matmul"); k++)
      {
        const PlanValue *v = graph_value (g, node_in (instr, k));

        if (v->producer == NULL || !node_is (v->producer, "permute")
            || !swaps_last_axes (v->producer->attrs, v->desc.rank))
          continue;
        fold (g, instr, k, node_in (v->producer, 0));
      }
}
