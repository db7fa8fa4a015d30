/* Folds transposes into products: a product can read a transposed operand at no cost, so a permute that only swaps the
 * last two axes is removed. */
#include "engine/plan/plan-pattern.h"

static gboolean
swaps_last_axes (const LoomPermuteAttrs *p, int rank)
{
  for (int r = 0; r < rank; r++)
    if (p->perm[r] != (r == rank - 1 ? rank - 2 : r == rank - 2 ? rank - 1 : r))
      return FALSE;
  return TRUE;
}

/* Makes the product read the operand of the permute. */
static gboolean
fold (PlanRewrite *r)
{
  LoomMatmulAttrs *attrs = r->attrs;
  bool *trans = r->at == 0 ? &attrs->trans_a : &attrs->trans_b;

  if (!swaps_last_axes (r->other->attrs, graph_value (r->g, rewrite_in (r, r->at))->desc.rank))
    return FALSE;
  *trans = !*trans;
  rewrite_set_in (r, r->at, node_in (r->other, 0));
  return TRUE;
}

const PlanPattern patterns_of_transposes[] = {
  { .root = PATTERN_CALL ("matmul"),
    .other = PATTERN_CALL ("permute"),
    .find = pattern_producer,
    .last = 1,
    .flags = PATTERN_KEEPS_OTHER | PATTERN_ACROSS_DEVICES,
    .rewrite = fold },
  { .rewrite = NULL },
};
