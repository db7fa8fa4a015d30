/* Folds transposes into products: a product can read a transposed operand at little cost, so a permute that only swaps
 * the last two axes is removed. A loop that reads the same transposed operand in all iterations transposes it once. */
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

#define FEW_ROWS 4 /* products of so few rows read each weight once, in either order */

/* TRUE if the processor's library would transpose matrix b in each call. */
static gboolean
reads_fixed_transposed (PlanGraph *g, const PlanNode *instr)
{
  const LoomMatmulAttrs *attrs = instr->attrs;
  const PlanValue *a, *b;

  if (!node_is (instr, "matmul") || !attrs->trans_b || attrs->trans_a)
    return FALSE;
  a = graph_value (g, node_in (instr, 0));
  b = graph_value (g, node_in (instr, 1));
  return b->alias == 0 && graph_is_fixed_input (g, b) && b->desc.rank == 2 && a->desc.rank == 2
         && a->desc.dim[0] > FEW_ROWS && a->desc.dtype == LOOM_F32;
}

void
pass_transpose_fixed (PlanGraph *g)
{
  const LoomPlanDevice *device
      = g->options.fixed_inputs > 0 ? loom_devices_get (g->devices, g->options.device, NULL) : NULL;

  if (device == NULL || !device->info.host_memory)
    return;
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (reads_fixed_transposed (g, instr))
      {
        const PlanValue *b = graph_value (g, node_in (instr, 1));
        const LoomTensorDesc across = { .dtype = b->desc.dtype, .rank = 2, .dim = { b->desc.dim[1], b->desc.dim[0] } };
        PlanNode *permute = graph_insert_like (g, instr, instr, loom_prim ("permute"),
                                               &(LoomPermuteAttrs){ .perm = { 1, 0 } }, "permute");
        const guint from = node_in (instr, 1), to = graph_new_value (g, &across, b);

        graph_add_in (g, permute, from);
        graph_add_out (g, permute, to);
        ((LoomMatmulAttrs *)instr->attrs)->trans_b = false;
        graph_set_in (g, instr, 1, to);
      }
}
