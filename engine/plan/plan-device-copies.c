/* Overlaps copies between devices with the computation of both devices, if the devices copy on their own streams
 * (LoomBackend.send).
 *
 * Such a copy is on the send lane of its source. It begins when its value has been computed and the destination's
 * earlier instructions, which used the memory, are finished; only its readers wait for it. So it is scheduled as soon
 * as its value is available. Meanwhile the source computes, and keeps the bytes until events show that they were read:
 * an event of a copy in the other direction, or the end of the step.
 *
 * The host makes all other copies, in turn with both devices. */
#include "engine/plan/plan-private.h"

static PlanNode *
at (const PlanGraph *g, guint i)
{
  return g_ptr_array_index (g->schedule, i);
}

static guint
source (PlanGraph *g, const PlanNode *copy)
{
  return graph_root (g, node_in (copy, 0));
}

static gboolean
is_device_copy (PlanGraph *g, const PlanNode *instr)
{
  const LoomPlanDevice *from, *to;

  if (instr->prim != NULL)
    return FALSE;
  from = graph_device (g, graph_value (g, source (g, instr))->device);
  to = graph_device (g, instr->device);
  return from->backend == to->backend && from->backend->can_send != NULL
         && from->backend->can_send (from->device, to->device);
}

/* Moves a copy to just after the instruction that makes its value. The result of an exchange is available only after
 * the wait for it. */
static void
move_early (PlanGraph *g, guint position)
{
  PlanNode *copy = at (g, position);
  const PlanNode *producer = graph_value (g, source (g, copy))->producer;
  guint to = 0;

  if (producer != NULL && (producer->prim == NULL || (producer->prim->flags & LOOM_PRIM_COLLECTIVE) != 0))
    return;
  while (to < position && at (g, to)->setup)
    to++;
  for (guint i = position; producer != NULL && i-- > to;)
    if (at (g, i) == producer)
      to = i + 1;
  /* Copies that were moved to this position before are read earlier, and a lane runs in order. */
  while (to < position && node_is_send (at (g, to)))
    to++;
  g_ptr_array_remove_index (g->schedule, position);
  g_ptr_array_insert (g->schedule, (int)to, copy);
}

static void
wait_once (PlanNode *instr, PlanNode *copy)
{
  if (instr->after == NULL || !g_ptr_array_find (instr->after, copy, NULL))
    node_wait_for (instr, copy);
}

/* TRUE if a result overwrites operand k. */
static gboolean
updates (const PlanNode *instr, guint k)
{
  for (guint o = 0; instr->prim != NULL && instr->prim->updates != NULL && o < instr->out->len; o++)
    if (node_out (instr, o) != 0 && instr->prim->updates (instr->attrs, o) == k)
      return TRUE;
  return FALSE;
}

/* Makes a reader of copies wait for them, unless an earlier instruction of its lane has waited. An instruction that
 * updates a value in place waits for the copies of that value. */
static void
wait_for_copies (PlanGraph *g, PlanNode *instr, GHashTable *made, GHashTable *taken)
{
  for (guint k = 0; k < instr->in->len; k++)
    {
      const guint root = node_in (instr, k) != 0 ? graph_root (g, node_in (instr, k)) : 0;
      PlanNode *copy = root != 0 ? g_hash_table_lookup (made, GUINT_TO_POINTER (root)) : NULL;
      GPtrArray *of = root != 0 ? g_hash_table_lookup (taken, GUINT_TO_POINTER (root)) : NULL;

      /* Checked last because it takes long: an update of all parameters has as many results as operands. */
      if (of != NULL && !updates (instr, k))
        of = NULL;

      for (guint i = 0; of != NULL && i < of->len; i++)
        wait_once (instr, of->pdata[i]);
      if (copy == NULL)
        continue;
      wait_once (instr, copy);
      if (instr->prim != NULL && instr->stream == PLAN_STREAM_COMPUTE)
        g_hash_table_remove (made, GUINT_TO_POINTER (root));
    }
}

void
pass_overlap_copies (PlanGraph *g)
{
  g_autoptr (GHashTable) made = g_hash_table_new (NULL, NULL); /* by result, the copies that were not waited for yet */
  g_autoptr (GHashTable) taken = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);

  for (guint i = 0; i < g->schedule->len && !g->options.no_sends; i++)
    if (is_device_copy (g, at (g, i)))
      {
        at (g, i)->stream = PLAN_STREAM_SEND;
        move_early (g, i);
      }
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = at (g, i);
      GPtrArray *of;

      wait_for_copies (g, instr, made, taken);
      if (!node_is_send (instr))
        continue;
      g_hash_table_insert (made, GUINT_TO_POINTER (graph_root (g, node_out (instr, 0))), instr);
      of = g_hash_table_lookup (taken, GUINT_TO_POINTER (source (g, instr)));
      if (of == NULL)
        {
          of = g_ptr_array_new ();
          g_hash_table_insert (taken, GUINT_TO_POINTER (source (g, instr)), of);
        }
      g_ptr_array_add (of, instr);
    }
}

void
graph_export_sends (PlanGraph *g, LoomPlan *plan)
{
  for (guint i = 0; i < g->schedule->len; i++)
    {
      LoomPlanInstr *instr = &g_array_index (plan->instrs, LoomPlanInstr, i);

      instr->is_send = node_is_send (at (g, i));
      for (guint k = 0; at (g, i)->after != NULL && k < at (g, i)->after->len; k++)
        {
          const PlanNode *copy = g_ptr_array_index (at (g, i)->after, k);
          guint position;

          if (!node_is_send (copy) || !g_ptr_array_find (g->schedule, copy, &position))
            continue;
          LoomPlanInstr *send = &g_array_index (plan->instrs, LoomPlanInstr, position);
          send->until = MIN (send->until, i);
          instr->sent = g_renew (guint, instr->sent, instr->n_sent + 1);
          instr->sent[instr->n_sent++] = position;
        }
    }
}
