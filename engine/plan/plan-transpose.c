/* A product reads its operand transposed for nothing, so a permute that only swaps the last two axes is left out. */
#include "engine/plan/plan-private.h"

static gboolean
swaps_last_axes (const LoomPermuteAttrs *p, int rank)
{
  for (int r = 0; r < rank; r++)
    if (p->perm[r] != (r == rank - 1 ? rank - 2 : r == rank - 2 ? rank - 1 : r))
      return FALSE;
  return TRUE;
}

void
work_fold_transposes (Work *w)
{
  for (WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    for (guint k = 0; k < 2 && work_is (instr, "matmul"); k++)
      {
        const WorkValue *v = work_value (w, work_in (instr, k));
        LoomMatmulAttrs *attrs = instr->attrs;

        if (v->producer == NULL || !work_is (v->producer, "permute")
            || !swaps_last_axes (v->producer->attrs, v->desc.rank))
          continue;
        work_set_in (w, instr, k, work_in (v->producer, 0));
        if (k == 0)
          attrs->trans_a = !attrs->trans_a;
        else
          attrs->trans_b = !attrs->trans_b;
      }
}
