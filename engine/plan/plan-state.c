/* Inserts copies of state that is read after the step has changed it, so that every reader gets the value from the
 * beginning of the step.
 *
 * An output that is state is copied before its slot is written. An update reads gradients while it writes parameters. A
 * gradient may be another parameter (the gradient of y in x·y is x), or the same one; if ranks divide parameters, it
 * may be the shard that is updated. An update overwrites the memory of its operand, so if the state's next value is
 * another result, such as that of an exchange after the update, the update works on a copy. */
#include "engine/plan/plan-private.h"

/* TRUE if v is state that the step changes, or a view of it. */
static gboolean
is_changing_state (PlanGraph *g, guint v)
{
  int slot = graph_value (g, graph_root (g, v))->slot;
  const LoomSlot *s = slot >= 0 ? loom_program_get_slot (g->program, (guint)slot) : NULL;

  return s != NULL && s->commit != 0 && s->commit != s->read;
}

/* A copy of v before an instruction. */
static guint
copy_before (PlanGraph *g, PlanNode *at, guint v)
{
  const LoomTensorDesc desc = graph_value (g, v)->desc;
  const LoomCopyTo to = { desc.dtype };
  PlanValue like = *graph_value (g, v);
  PlanNode *instr;
  guint copy;

  like.owner = LOOM_OWNER_ACTIVATIONS;
  copy = graph_new_value (g, &desc, &like);
  instr = graph_insert (g, at, loom_prim ("copy"), &to);
  instr->origin = like.origin;
  instr->device_name = like.device_name;
  instr->region = at != NULL ? at->region : LOOM_REGION_FORWARD;
  g_string_assign (instr->label, "copy");
  graph_add_in (g, instr, v);
  graph_add_out (g, instr, copy);
  return copy;
}

static void
copy_outputs (PlanGraph *g)
{
  PlanNode *first = graph_first (g);

  for (guint o = 0; o < g->output_value->len; o++)
    {
      guint v = g_array_index (g->output_value, guint, o), copy;

      if (!is_changing_state (g, v))
        continue;
      copy = copy_before (g, first, v);
      graph_value (g, copy)->is_output = TRUE;
      graph_value (g, v)->is_output = FALSE;
      g_array_index (g->output_value, guint, o) = copy;
    }
}

/* TRUE if v is the next value of the slot that `old` is read from, or if `old` is not read from a slot. */
static gboolean
is_next_value (PlanGraph *g, guint v, guint old)
{
  int slot = graph_value (g, graph_root (g, old))->slot;
  guint commit = slot >= 0 ? loom_program_get_slot (g->program, (guint)slot)->commit : 0;

  return slot < 0 || (commit != 0 && graph_root (g, commit) == graph_root (g, v));
}

typedef enum
{
  USE_READ,
  USE_REPLACED,   /* a result is the state's next value, and overwrites it */
  USE_OVERWRITTEN /* a result overwrites it, but the state's next value is another one */
} OperandUse;

/* How an update uses each operand. An array for all operands, because an update of all parameters has as many results
 * as operands. */
static OperandUse *
find_uses (PlanGraph *g, const PlanNode *instr)
{
  OperandUse *uses = g_new0 (OperandUse, instr->in->len + 1);

  for (guint o = 0; o < instr->out->len; o++)
    {
      const guint k = node_out (instr, o) != 0 ? instr->prim->updates (instr->attrs, o) : instr->in->len;

      if (k < instr->in->len)
        uses[k] = is_next_value (g, node_out (instr, o), node_in (instr, k)) ? USE_REPLACED : USE_OVERWRITTEN;
    }
  return uses;
}

/* Computed values that updates overwrite, by root: shards of parameters. (transfer full) */
static GHashTable *
find_overwritten (PlanGraph *g)
{
  GHashTable *roots = g_hash_table_new (NULL, NULL);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    for (guint o = 0; instr->prim != NULL && instr->prim->updates != NULL && o < instr->out->len; o++)
      {
        const guint k = node_out (instr, o) != 0 ? instr->prim->updates (instr->attrs, o) : instr->in->len;
        const guint root = k < instr->in->len && node_in (instr, k) != 0 ? graph_root (g, node_in (instr, k)) : 0;

        if (root != 0 && graph_value (g, root)->producer != NULL)
          g_hash_table_add (roots, GUINT_TO_POINTER (root));
      }
  return roots;
}

/* Copies of state are inserted before the first update, because a later update may read what an earlier one has
 * written, and those of computed values right after them. */
static void
copy_operands_of_updates (PlanGraph *g)
{
  g_autoptr (GHashTable) overwritten = find_overwritten (g);
  PlanNode *first = NULL;

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      if (instr->prim == NULL || instr->prim->updates == NULL)
        continue;
      if (first == NULL)
        first = instr;
      g_autofree OperandUse *uses = find_uses (g, instr);
      for (guint k = 0; k < instr->in->len; k++)
        {
          const guint v = node_in (instr, k), root = v != 0 ? graph_root (g, v) : 0;

          if (v == 0 || uses[k] == USE_REPLACED)
            continue;
          if (uses[k] == USE_OVERWRITTEN || is_changing_state (g, v))
            graph_set_in (g, instr, k, copy_before (g, first, v));
          else if (g_hash_table_contains (overwritten, GUINT_TO_POINTER (root)))
            graph_set_in (g, instr, k, copy_before (g, node_next (graph_value (g, root)->producer), v));
        }
    }
}

void
pass_copy_state (PlanGraph *g)
{
  copy_outputs (g);
  copy_operands_of_updates (g);
}
