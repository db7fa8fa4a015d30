/* Finds the logits of a head, with a row for each sample or token and a number for each class: the instructions that
 * make them, that compute values from them element by element, and that read any of these. plan-pad.c (layout of rows)
 * and plan-head.c (chunks) check whether they can handle each of these instructions. */
#include "engine/plan/plan-private.h"

gboolean
work_scores_has (const WorkScores *s, guint v)
{
  return v != 0 && g_hash_table_contains (s->roots, GUINT_TO_POINTER (work_root (s->g, v)));
}

gboolean
work_scores_is_rows_by (const WorkScores *s, guint v, gint64 n)
{
  const LoomTensorDesc *d = &work_value (s->g, v)->desc;

  return d->rank > 0 && d->dim[d->rank - 1] == n && loom_desc_count (d) == s->rows * n;
}

static gboolean add_scores (WorkScores *s, guint v);

/* Adds an instruction that makes or reads logits, and the logits that it makes. */
static gboolean
add_instr (WorkScores *s, WorkInstr *instr)
{
  if (!g_hash_table_add (s->members, instr))
    return TRUE;
  g_ptr_array_add (s->instrs, instr);
  if (instr->steps != NULL)
    for (guint k = 0; k < instr->in->len; k++)
      if (work_scores_is_rows_by (s, work_in (instr, k), s->classes) && !add_scores (s, work_in (instr, k)))
        return FALSE;
  if ((instr->steps != NULL || work_is (instr, "cross_entropy_grad")) && instr->out->len == 1)
    return work_scores_is_rows_by (s, work_out (instr, 0), s->classes) && add_scores (s, work_out (instr, 0));
  return TRUE;
}

/* Adds all readers of v or its views. */
static gboolean
add_readers (WorkScores *s, guint v)
{
  const WorkValue *value = work_value (s->g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL)
      {
        if (!work_scores_is_rows_by (s, v, s->classes) || !add_instr (s, use->instr))
          return FALSE;
      }
    else if (!add_readers (s, use->at))
      return FALSE;
  return TRUE;
}

static gboolean
add_scores (WorkScores *s, guint v)
{
  const WorkValue *value;

  v = work_root (s->g, v);
  value = work_value (s->g, v);
  if (!g_hash_table_add (s->roots, GUINT_TO_POINTER (v)))
    return TRUE;
  return value->producer != NULL && value->slot < 0 && value->input < 0 && !value->is_uniform
         && value->device_name == s->device_name && work_scores_is_rows_by (s, v, s->classes)
         && add_instr (s, value->producer) && add_readers (s, v);
}

void
work_scores_init (WorkScores *s, Work *g, const WorkInstr *loss)
{
  const LoomTensorDesc *d = &work_value (g, work_in (loss, 0))->desc;

  *s = (WorkScores){ .g = g,
                     .device_name = loss->device_name,
                     .rows = d->dim[0],
                     .classes = d->rank == 2 ? d->dim[1] : 0,
                     .roots = g_hash_table_new (NULL, NULL),
                     .members = g_hash_table_new (NULL, NULL),
                     .instrs = g_ptr_array_new () };
}

void
work_scores_clear (WorkScores *s)
{
  g_hash_table_unref (s->roots);
  g_hash_table_unref (s->members);
  g_ptr_array_unref (s->instrs);
}

gboolean
work_scores_find (WorkScores *s, const WorkInstr *loss)
{
  if (s->classes == 0 || !add_scores (s, work_in (loss, 0)))
    return FALSE;
  work_sort (s->instrs);
  return TRUE;
}
