/* Finds the logits of a loss: values with a row for each sample or token and a column for each class. The result lists
 * the instructions that make logits, that compute values from them element by element, and that read any of these.
 * plan-pad-logits.c and plan-head-chunks.c then check whether they can rewrite each of these instructions. */
#include "engine/plan/plan-private.h"

gboolean
plan_logits_has (const PlanLogits *s, guint v)
{
  return v != 0 && g_hash_table_contains (s->roots, GUINT_TO_POINTER (graph_root (s->g, v)));
}

gboolean
plan_logits_is_rows_by (const PlanLogits *s, guint v, gint64 n)
{
  const LoomTensorDesc *d = &graph_value (s->g, v)->desc;

  return d->rank > 0 && d->dim[d->rank - 1] == n && loom_desc_count (d) == s->rows * n;
}

static gboolean add_logits (PlanLogits *s, guint v);

/* Adds an instruction that makes or reads logits, and the logits that it makes. */
static gboolean
add_instr (PlanLogits *s, PlanNode *instr)
{
  if (!g_hash_table_add (s->members, instr))
    return TRUE;
  g_ptr_array_add (s->instrs, instr);
  if (instr->steps != NULL)
    for (guint k = 0; k < instr->in->len; k++)
      if (plan_logits_is_rows_by (s, node_in (instr, k), s->classes) && !add_logits (s, node_in (instr, k)))
        return FALSE;
  if ((instr->steps != NULL || node_is (instr, "cross_entropy_grad")) && instr->out->len == 1)
    return plan_logits_is_rows_by (s, node_out (instr, 0), s->classes) && add_logits (s, node_out (instr, 0));
  return TRUE;
}

/* Adds all readers of v or its views. */
static gboolean
add_readers (PlanLogits *s, guint v)
{
  const PlanValue *value = graph_value (s->g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL)
      {
        if (!plan_logits_is_rows_by (s, v, s->classes) || !add_instr (s, use->instr))
          return FALSE;
      }
    else if (!add_readers (s, use->at))
      return FALSE;
  return TRUE;
}

static gboolean
add_logits (PlanLogits *s, guint v)
{
  const PlanValue *value;

  v = graph_root (s->g, v);
  value = graph_value (s->g, v);
  if (!g_hash_table_add (s->roots, GUINT_TO_POINTER (v)))
    return TRUE;
  return value->producer != NULL && value->slot < 0 && value->input < 0 && !value->is_uniform
         && value->device_name == s->device_name && plan_logits_is_rows_by (s, v, s->classes)
         && add_instr (s, value->producer) && add_readers (s, v);
}

void
plan_logits_init (PlanLogits *s, PlanGraph *g, const PlanNode *loss)
{
  const LoomTensorDesc *d = &graph_value (g, node_in (loss, 0))->desc;

  *s = (PlanLogits){ .g = g,
                     .device_name = loss->device_name,
                     .rows = d->dim[0],
                     .classes = d->rank == 2 ? d->dim[1] : 0,
                     .roots = g_hash_table_new (NULL, NULL),
                     .members = g_hash_table_new (NULL, NULL),
                     .instrs = g_ptr_array_new () };
}

void
plan_logits_clear (PlanLogits *s)
{
  g_hash_table_unref (s->roots);
  g_hash_table_unref (s->members);
  g_ptr_array_unref (s->instrs);
}

gboolean
plan_logits_find (PlanLogits *s, const PlanNode *loss)
{
  if (s->classes == 0 || !add_logits (s, node_in (loss, 0)))
    return FALSE;
  node_sort (s->instrs);
  return TRUE;
}
