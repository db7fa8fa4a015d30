/* Folds transposes into products: a product reads a transposed operand at no cost, so a permute that only swaps the
 * last two axes is dropped. */
#include "engine/plan/plan-private.h"

static gboolean
swaps_last_axes (const LoomPermuteAttrs *p, int rank)
{
  for (int r = 0; r < rank; r++)
    if (p->perm[r] != (r == rank - 1 ? rank - 2 : r == rank - 2 ? rank - 1 : r))
      return FALSE;
  return TRUE;
}

/* Reads v transposed as operand k; changes nothing if the device has no such product. */
static void
fold (Work *g, WorkInstr *instr, guint k, guint v)
{
  LoomMatmulAttrs *attrs = instr->attrs;
  bool *trans = k == 0 ? &attrs->trans_a : &attrs->trans_b;
  guint in[3] = { 0 }, n = MIN (instr->in->len, 3);

  for (guint i = 0; i < n; i++)
    in[i] = i == k ? v : work_in (instr, i);
  *trans = !*trans;
  if (work_has_kernel (g, instr, n, in, instr->out->len, (const guint *)(const void *)instr->out->data))
    work_set_in (g, instr, k, v);
  else
    *trans = !*trans;
}

void
work_fold_transposes (Work *g)
{
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    for (guint k = 0; k < 2 && work_is (instr, "matmul"); k++)
      {
        const WorkValue *v = work_value (g, work_in (instr, k));

        if (v->producer == NULL || !work_is (v->producer, "permute")
            || !swaps_last_axes (v->producer->attrs, v->desc.rank))
          continue;
        fold (g, instr, k, work_in (v->producer, 0));
      }
}
