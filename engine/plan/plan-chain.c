/* Fuses element-wise chains: an element-wise instruction with a single element-wise reader is computed in that reader's
 * pass over memory. */
#include "engine/plan/plan-private.h"

#include <string.h>

static guint
count_outside_inputs (const WorkInstr *a, const WorkInstr *b, guint joint)
{
  guint n = a->in->len;

  for (guint i = 0; i < b->in->len; i++)
    {
      guint v = work_in (b, i);
      gboolean seen = v == joint;

      for (guint k = 0; k < a->in->len && !seen; k++)
        seen = work_in (a, k) == v;
      n += !seen;
    }
  return n;
}

/* TRUE if the operands of `from` are unchanged at into's position: an optimizer's step overwrites what it updates. */
static gboolean
may_move (Work *g, GHashTable *updaters, const WorkInstr *from, const WorkInstr *into)
{
  for (guint k = 0; k < from->in->len; k++)
    {
      const WorkInstr *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (work_root (g, work_in (from, k))));

      if (updater != NULL && work_is_before (updater, into))
        return FALSE;
    }
  return TRUE;
}

/* Puts the steps of `from`, whose one result only `into` reads, in front of into's steps. This moves `from` later,
 * which is safe if no instruction in between updates its operands. */
static gboolean
merge_into (Work *g, GHashTable *updaters, WorkInstr *from, WorkInstr *into, guint joint)
{
  g_autoptr (GArray) operands = NULL, steps = NULL;
  WorkInstr joined;
  const WorkValue *v = work_value (g, joint);
  guint n;

  /* A sum over micro-batches, or over the chunks of a head, would otherwise wait for all of them. */
  if ((from->pass != 0 && from->pass != into->pass) || (from->chunk != 0 && from->chunk != into->chunk))
    return FALSE;
  if (from == into || from->steps == NULL || from->out->len != 1 || from->compute != into->compute
      || from->device_name != into->device_name || work_only_reader (g, joint, FALSE) != into
      || !work_same_dims (&v->desc, &work_value (g, work_out (into, 0))->desc)
      || from->steps->len + into->steps->len > LOOM_EW_MAX_STEPS
      || count_outside_inputs (from, into, joint) > LOOM_EW_MAX_IN || !may_move (g, updaters, from, into))
    return FALSE;

  joined = *into;
  joined.steps = steps = g_array_new (FALSE, FALSE, sizeof (WorkStep));
  g_array_append_vals (steps, from->steps->data, from->steps->len);
  g_array_append_vals (steps, into->steps->data, into->steps->len);
  operands = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < from->in->len + into->in->len; i++)
    {
      guint x = i < from->in->len ? work_in (from, i) : work_in (into, i - from->in->len);
      gboolean seen = x == joint;

      for (guint k = 0; k < operands->len && !seen; k++)
        seen = g_array_index (operands, guint, k) == x;
      if (!seen)
        g_array_append_val (operands, x);
    }
  if (!work_has_kernel (g, &joined, operands->len, (const guint *)(const void *)operands->data, into->out->len,
                        (const guint *)(const void *)into->out->data))
    return FALSE;
  g_array_prepend_vals (into->steps, from->steps->data, from->steps->len);
  n = into->in->len;
  for (guint i = 0; i < operands->len; i++)
    work_add_in (g, into, g_array_index (operands, guint, i));
  for (; n > 0; n--)
    work_drop_in (g, into, n - 1);
  g_string_prepend_c (into->label, ',');
  g_string_prepend (into->label, from->label->str);
  work_erase (g, from);
  return TRUE;
}

static void
fuse_chain (Work *g, GHashTable *updaters, WorkInstr *instr)
{
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < instr->in->len && !changed; i++)
        {
          guint v = work_in (instr, i);
          WorkInstr *from = work_value (g, v)->producer;

          changed = from != NULL && merge_into (g, updaters, from, instr, v);
        }
    }
}

void
work_fuse_chains (Work *g)
{
  g_autoptr (GHashTable) updaters = work_find_updaters (g);

  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (instr->steps != NULL)
      fuse_chain (g, updaters, instr);
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (instr->steps != NULL && strchr (instr->label->str, ',') != NULL)
      {
        g_string_prepend (instr->label, "fused(");
        g_string_append_c (instr->label, ')');
      }
}
