/* Replaces slices of a matrix's first rows by views of the matrix. Padding logits (plan-pad-logits.c) leaves such
 * slices: they cut the gradients of padded weights to the size of the weights. */
#include "engine/plan/plan-private.h"

/* TRUE for a slice of all rows of a matrix but the last few. The matrix must be computed in this step, not be
 * overwritten later, and be little larger, because it lives as long as the view. */
static gboolean
is_leading (PlanGraph *g, const PlanNode *instr, GHashTable *updaters)
{
  const LoomSliceTo *slice = instr->attrs;
  const guint root = graph_root (g, node_in (instr, 0)), y = node_out (instr, 0);
  const PlanValue *whole = graph_value (g, root), *part = graph_value (g, y);
  const LoomTensorDesc *a = &graph_value (g, node_in (instr, 0))->desc, *b = &part->desc;

  if (a->rank != 2 || a->dim[1] != b->dim[1] || b->dim[0] * 8 < a->dim[0] * 7 || whole->producer == NULL
      || whole->is_output || whole->commit >= 0 || part->is_output || part->commit >= 0
      || instr->device_name != whole->device_name || g_hash_table_contains (updaters, GUINT_TO_POINTER (root))
      || g_hash_table_contains (updaters, GUINT_TO_POINTER (y)))
    return FALSE;
  for (int i = 0; i < a->rank; i++)
    if (slice->kernel.start[i] != 0 || slice->kernel.step[i] != 1)
      return FALSE;
  return TRUE;
}

void
pass_view_slices (PlanGraph *g)
{
  g_autoptr (GHashTable) updaters = graph_find_updaters (g);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "slice") && is_leading (g, instr, updaters))
      {
        graph_set_alias (g, node_out (instr, 0), node_in (instr, 0));
        graph_erase (g, instr);
      }
}
