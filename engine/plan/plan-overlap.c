/* Overlaps communication with computation: posts exchanges of ranks to the plan's communication thread as soon as their
 * operands are ready, and waits before the first reader. Shards of weights are gathered one call ahead.
 *
 * The collectives of a plan keep their order, which is the same on all ranks, and use one lane. Pipeline stages on CPUs
 * use no lane: a send returns at once anyway, and a receive has to wait. On devices the transfers after one time slot
 * of the schedule form a group, which overlaps the computation until one of its results is read or the next exchange
 * begins. */
#include "engine/core/loom-env.h"
#include "engine/plan/plan-collective.h"
#include "engine/plan/plan-private.h"

static gboolean
is_collective (const PlanNode *instr)
{
  return instr->prim != NULL && (instr->prim->flags & LOOM_PRIM_COLLECTIVE) != 0 && instr->kernel != NULL
         && instr->stream == PLAN_STREAM_COMPUTE && instr->after == NULL;
}

static PlanNode *
at (const PlanGraph *g, guint i)
{
  return g_ptr_array_index (g->schedule, i);
}

/* On CPUs the lane needs a processor of its own: if the ranks keep all processors busy, its thread would compete with
 * the computation. */
static gboolean
has_processor (PlanGraph *g)
{
  const char *wanted = loom_env ("GRADLOOM_COMM_LANE");
  const LoomComm *comm = g->options.mesh != NULL ? g->options.mesh->all : NULL;

  if (comm == NULL)
    return FALSE;
  if (wanted != NULL)
    return g_str_equal (wanted, "1");
  if (!graph_device (g, 0)->info.host_memory)
    return TRUE;
  return comm->cpu_sharers * (graph_device (g, 0)->info.threads + 1) <= loom_processors ();
}

/* The first position after `i` that reads a result, or the end. */
static guint
first_reader (PlanGraph *g, guint i)
{
  const PlanNode *instr = at (g, i);

  for (guint j = i + 1; j < g->schedule->len; j++)
    for (guint k = 0; k < at (g, j)->in->len; k++)
      for (guint o = 0; o < instr->out->len; o++)
        if (node_in (at (g, j), k) != 0 && node_out (instr, o) != 0
            && graph_root (g, node_in (at (g, j), k)) == graph_root (g, node_out (instr, o)))
          return j;
  return g->schedule->len;
}

/* The position at which an exchange is waited for: its first reader, but no later than the first update after it. An
 * exchange may fail, and a step that fails must not have written state: the undo log restores weights only after faults
 * of gradients. */
static guint
wait_position (PlanGraph *g, guint i)
{
  const guint reader = first_reader (g, i);

  for (guint j = i + 1; j < reader; j++)
    if (at (g, j)->region == LOOM_REGION_UPDATE && at (g, j)->prim != NULL && at (g, j)->prim->updates != NULL)
      return j;
  return reader;
}

/* The first position at which all operands of an instruction are available. */
static guint
first_ready (PlanGraph *g, const PlanNode *instr)
{
  guint ready = 0;

  for (guint i = 0; i < g->schedule->len && at (g, i) != instr; i++)
    for (guint k = 0; k < instr->in->len; k++)
      for (guint o = 0; o < at (g, i)->out->len; o++)
        if (node_out (at (g, i), o) != 0
            && graph_root (g, node_in (instr, k)) == graph_root (g, node_out (at (g, i), o)))
          ready = i + 1;
  return ready;
}

/* Moves an exchange whose operands are available early, such as the shards of parameters, to just after the first
 * reader of the previous exchange. */
static void
gather_ahead (PlanGraph *g)
{
  guint earliest = 0;

  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = at (g, i);
      guint to;

      if (instr->setup || !is_collective (instr))
        {
          earliest = instr->setup ? i + 1 : earliest;
          continue;
        }
      to = MAX (earliest, first_ready (g, instr));
      if (to < i && instr->region != LOOM_REGION_UPDATE)
        {
          g_ptr_array_remove_index (g->schedule, i);
          g_ptr_array_insert (g->schedule, (int)to, instr);
        }
      else
        to = i;
      /* Only one call ahead, because unsharded weights take memory. */
      earliest = MAX (to + 1, MIN (first_reader (g, to), i) + 1);
    }
}

static PlanNode *
wait_before (PlanGraph *g, PlanNode *instr, guint position)
{
  PlanNode *before = position < g->schedule->len ? at (g, position) : NULL;
  PlanNode *wait = graph_insert (g, before, instr->prim, instr->attrs);

  g_string_printf (wait->label, "wait for %s", instr->label->str);
  wait->kernel = plan_collective_make_async (instr->kernel);
  wait->device = instr->device;
  wait->device_name = instr->device_name;
  wait->region = before != NULL ? before->region : instr->region;
  node_wait_for (wait, instr);
  instr->stream = PLAN_STREAM_EXCHANGE; /* on the host, one thread makes all calls */
  if (!graph_device (g, instr->device)->info.host_memory)
    instr->stream += (int)loom_collective_along (instr->prim, instr->attrs);
  g_ptr_array_insert (g->schedule, (int)position, wait);
  return wait;
}

void
node_wait_for (PlanNode *instr, PlanNode *other)
{
  if (instr->after == NULL)
    instr->after = g_ptr_array_new ();
  g_ptr_array_add (instr->after, other);
}

/* An exchange begins after all earlier instructions of its device. */
static void
wait_for_earlier (PlanGraph *g)
{
  g_autofree PlanNode **newest = g_new0 (PlanNode *, g->plan_devices->len + 1);

  for (guint i = 0; i < g->schedule->len; i++)
    if (at (g, i)->stream == PLAN_STREAM_COMPUTE)
      newest[at (g, i)->device] = at (g, i);
    else if (newest[at (g, i)->device] != NULL)
      node_wait_for (at (g, i), newest[at (g, i)->device]);
}

/* The end of the group of transfers that begins at position `first`. */
static guint
end_of_group (PlanGraph *g, guint first)
{
  guint end = first;
  const int exchange_slot = plan_collective_exchange_slot (at (g, first)->kernel);

  while (end < g->schedule->len && at (g, end)->kernel != NULL && is_collective (at (g, end))
         && plan_collective_exchange_slot (at (g, end)->kernel) == exchange_slot)
    end++;
  return end;
}

/* The position at which a group is waited for: the first reader, or the next exchange. */
static guint
group_wait_position (PlanGraph *g, guint first, guint end)
{
  guint until = end;

  while (until < g->schedule->len && !is_collective (at (g, until)))
    until++;
  for (guint i = first; i < end; i++)
    until = MIN (until, MAX (first_reader (g, i), end));
  return until;
}

static void
overlap_groups (PlanGraph *g)
{
  for (guint i = 0; i < g->schedule->len; i++)
    {
      guint end;

      if (!is_collective (at (g, i)) || plan_collective_exchange_slot (at (g, i)->kernel) == 0)
        continue;
      end = end_of_group (g, i);
      for (guint k = i; k < end; k++)
        plan_collective_set_group (at (g, k)->kernel, at (g, i)->kernel, at (g, end - 1)->kernel);
      if (has_processor (g))
        {
          PlanNode *wait = wait_before (g, at (g, end - 1), group_wait_position (g, i, end));

          for (guint k = i; k + 1 < end; k++)
            {
              at (g, k)->stream = at (g, end - 1)->stream;
              node_wait_for (wait, at (g, k));
            }
        }
      i = end - 1;
    }
}

/* TRUE for a pipeline stage. Its receives wait for another stage, and on a lane a later send would have to wait too. */
static gboolean
is_stage (PlanGraph *g)
{
  for (guint i = 0; i < g->schedule->len; i++)
    if (at (g, i)->prim != NULL && (at (g, i)->prim->flags & LOOM_PRIM_SIDE_EFFECT) != 0)
      return TRUE;
  return FALSE;
}

void
pass_overlap_exchanges (PlanGraph *g)
{
  PlanCommThread *lane = NULL; /* NULL: the collectives of a device are on a stream */

  if (is_stage (g))
    {
      overlap_groups (g);
      wait_for_earlier (g);
      return;
    }
  if (!has_processor (g))
    return;
  gather_ahead (g);
  if (graph_device (g, 0)->info.host_memory)
    lane = plan_comm_thread_new ();
  for (guint i = 0; i < g->schedule->len && lane != NULL; i++)
    if (is_collective (at (g, i)))
      plan_collective_set_lane (at (g, i)->kernel, lane);
  for (guint i = 0; i < g->schedule->len; i++)
    if (is_collective (at (g, i)) && wait_position (g, i) > i + 1)
      wait_before (g, at (g, i), wait_position (g, i));
  wait_for_earlier (g);
  plan_comm_thread_unref (lane);
}

void
graph_export_waits (PlanGraph *g, LoomPlan *plan)
{
  for (guint i = 0; i < g->schedule->len; i++)
    for (guint k = 0; at (g, i)->after != NULL && k < at (g, i)->after->len; k++)
      {
        const PlanNode *other = g_ptr_array_index (at (g, i)->after, k);
        guint position;

        if (other->stream != PLAN_STREAM_COMPUTE && !node_is_send (other)
            && g_ptr_array_find (g->schedule, other, &position))
          g_array_index (plan->instrs, LoomPlanInstr, position).until = i;
      }
}
