/* Fuses element-wise chains: an element-wise instruction with a single element-wise reader is computed in that reader's
 * pass over memory. */
#include "engine/plan/plan-private.h"

#include <string.h>

static guint
count_outside_inputs (const PlanNode *a, const PlanNode *b, guint joint)
{
  guint n = a->in->len;

  for (guint i = 0; i < b->in->len; i++)
    {
      guint v = node_in (b, i);
      gboolean seen = v == joint;

      for (guint k = 0; k < a->in->len && !seen; k++)
        seen = node_in (a, k) == v;
      n += !seen;
    }
  return n;
}

/* TRUE if no instruction overwrites an operand of `from` before `into`; an optimizer's step overwrites the parameters
 * that it updates. */
static gboolean
may_move (PlanGraph *g, GHashTable *updaters, const PlanNode *from, const PlanNode *into)
{
  for (guint k = 0; k < from->in->len; k++)
    {
      const PlanNode *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (graph_root (g, node_in (from, k))));

      if (updater != NULL && node_is_before (updater, into))
        return FALSE;
    }
  return TRUE;
}

/* Puts the steps of `from`, whose only result is read only by `into`, in front of into's steps. This moves `from`
 * later, which is safe if may_move(). */
static gboolean
merge_into (PlanGraph *g, GHashTable *updaters, PlanNode *from, PlanNode *into, guint joint)
{
  g_autoptr (GArray) operands = NULL, steps = NULL;
  PlanNode joined;
  const PlanValue *v = graph_value (g, joint);
  guint n;

  /* In a sum over micro-batches, or over the chunks of a head, it would be computed only after the last of them. */
  if ((from->pass != 0 && from->pass != into->pass) || (from->chunk != 0 && from->chunk != into->chunk))
    return FALSE;
  if (from == into || from->steps == NULL || from->out->len != 1 || from->compute != into->compute
      || from->device_name != into->device_name || graph_only_reader (g, joint, FALSE) != into
      || !plan_same_dims (&v->desc, &graph_value (g, node_out (into, 0))->desc)
      || from->steps->len + into->steps->len > LOOM_EW_MAX_STEPS
      || count_outside_inputs (from, into, joint) > LOOM_EW_MAX_IN || !may_move (g, updaters, from, into))
    return FALSE;

  joined = *into;
  joined.steps = steps = g_array_new (FALSE, FALSE, sizeof (PlanStep));
  g_array_append_vals (steps, from->steps->data, from->steps->len);
  g_array_append_vals (steps, into->steps->data, into->steps->len);
  operands = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < from->in->len + into->in->len; i++)
    {
      guint x = i < from->in->len ? node_in (from, i) : node_in (into, i - from->in->len);
      gboolean seen = x == joint;

      for (guint k = 0; k < operands->len && !seen; k++)
        seen = g_array_index (operands, guint, k) == x;
      if (!seen)
        g_array_append_val (operands, x);
    }
  if (!graph_has_kernel (g, &joined, operands->len, (const guint *)(const void *)operands->data, into->out->len,
                         (const guint *)(const void *)into->out->data))
    return FALSE;
  g_array_prepend_vals (into->steps, from->steps->data, from->steps->len);
  n = into->in->len;
  for (guint i = 0; i < operands->len; i++)
    graph_add_in (g, into, g_array_index (operands, guint, i));
  for (; n > 0; n--)
    graph_drop_in (g, into, n - 1);
  g_string_prepend_c (into->label, ',');
  g_string_prepend (into->label, from->label->str);
  graph_erase (g, from);
  return TRUE;
}

static void
fuse_chain (PlanGraph *g, GHashTable *updaters, PlanNode *instr)
{
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < instr->in->len && !changed; i++)
        {
          guint v = node_in (instr, i);
          PlanNode *from = graph_value (g, v)->producer;

          changed = from != NULL && merge_into (g, updaters, from, instr, v);
        }
    }
}

void
pass_fuse_elementwise (PlanGraph *g)
{
  g_autoptr (GHashTable) updaters = graph_find_updaters (g);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (instr->steps != NULL)
      fuse_chain (g, updaters, instr);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (instr->steps != NULL && strchr (instr->label->str, ',') != NULL)
      {
        g_string_prepend (instr->label, "fused(");
        g_string_append_c (instr->label, ')');
      }
}
