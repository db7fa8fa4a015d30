/* Copies state that is read after the step has changed it, so that every reader gets the value from the beginning of
 * the step.
 *
 * An output that is state is copied before its slot is written. An update reads gradients while it writes parameters,
 * and a gradient may be another parameter (the gradient of y in x·y is x), or the same one. */
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

/* For each operand of an update, whether one of its results replaces it. One list serves all operands, since an update
 * of all parameters has as many results as operands. */
static gboolean *
find_updated (const PlanNode *instr)
{
  gboolean *updated = g_new0 (gboolean, instr->in->len);

  for (guint o = 0; o < instr->out->len; o++)
    {
      const guint k = node_out (instr, o) != 0 ? instr->prim->updates (instr->attrs, o) : instr->in->len;

      if (k < instr->in->len)
        updated[k] = TRUE;
    }
  return updated;
}

/* Copies come before the first update, since a later update may read what an earlier one has written. */
static void
copy_operands_of_updates (PlanGraph *g)
{
  PlanNode *first = NULL;

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      if (instr->prim == NULL || instr->prim->updates == NULL)
        continue;
      if (first == NULL)
        first = instr;
      g_autofree gboolean *updated = find_updated (instr);
      for (guint k = 0; k < instr->in->len; k++)
        if (node_in (instr, k) != 0 && !updated[k] && is_changing_state (g, node_in (instr, k)))
          graph_set_in (g, instr, k, copy_before (g, first, node_in (instr, k)));
    }
}

void
pass_copy_state (PlanGraph *g)
{
  copy_outputs (g);
  copy_operands_of_updates (g);
}
