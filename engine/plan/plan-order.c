/* Computes the happens-before relation of a plan's operations in one walk along the schedule.
 *
 * A lane of a device (loom-plan.h) runs its operations in order. An event orders an operation after an operation of
 * another lane, and so after everything that precedes that one. An operation stores one number per lane: the number of
 * operations of that lane that are finished when it begins (vector clocks, Fidge and Mattern, 1988).
 *
 * An operation accesses only the memory of its lane's device, so a copy between devices is two operations. If the host
 * copies, they are a read on the source's lane and then a write on the destination's. If the devices copy, they are an
 * operation of the source's send lane, preceded by one of the destination's compute lane, where an event signals that
 * the memory is free. */
#include "engine/plan/plan-private.h"

/* An operation of a device in the order of the schedule. */
typedef struct
{
  int position; /* in the schedule; -1: the beginning */
  guint op;
  guint least[PLAN_N_STREAMS]; /* by stream: the minimum of `before` over this and all later operations of the device */
} TimelineEntry;

struct _PlanOrder
{
  guint n_lanes;
  GArray *lane, *number; /* guint by operation: its lane, and its number in the lane, from 1 */
  GArray *before;        /* guint by operation and lane: the number of operations of that lane that precede it */
  guint *newest;         /* by lane: its last operation; NONE */
  guint *reads, *writes; /* by position in the schedule: the operations that read and that write */
  guint *over;           /* by position in the schedule: the last operation */
  GArray **timeline;     /* TimelineEntry, by device */
};

#define NONE G_MAXUINT

static guint *
before (const PlanOrder *order, guint op)
{
  return &g_array_index (order->before, guint, (gsize)op * order->n_lanes);
}

static guint
lane_of (const PlanOrder *order, guint op)
{
  return g_array_index (order->lane, guint, op);
}

static guint
number_of (const PlanOrder *order, guint op)
{
  return g_array_index (order->number, guint, op);
}

static void
wait_for (PlanOrder *order, guint op, guint other)
{
  guint *own = before (order, op);
  const guint *his = before (order, other);

  for (guint l = 0; l < order->n_lanes; l++)
    own[l] = MAX (own[l], his[l]);
  own[lane_of (order, other)] = MAX (own[lane_of (order, other)], number_of (order, other));
}

/* Adds an operation to the end of its lane. */
static guint
add (PlanOrder *order, guint lane, int position)
{
  const guint op = order->lane->len, newest = order->newest[lane];
  const guint number = newest == NONE ? 1 : number_of (order, newest) + 1;
  const TimelineEntry entry = { .position = position, .op = op };

  g_array_append_val (order->lane, lane);
  g_array_append_val (order->number, number);
  g_array_set_size (order->before, (op + 1) * order->n_lanes);
  if (newest != NONE)
    wait_for (order, op, newest);
  order->newest[lane] = op;
  g_array_append_val (order->timeline[lane / PLAN_N_STREAMS], entry);
  return op;
}

static guint
lane_number (int device, int stream)
{
  return (guint)device * PLAN_N_STREAMS + (guint)stream;
}

static gboolean
is_copy (const PlanNode *instr)
{
  return instr->prim == NULL;
}

/* Adds the instruction at position `at`. `position` maps earlier instructions to their positions. */
static void
add_instr (PlanGraph *g, PlanOrder *order, const PlanNode *instr, guint at, GHashTable *position)
{
  const int from = is_copy (instr) ? graph_value (g, graph_root (g, node_in (instr, 0)))->device : instr->device;
  const guint place
      = node_is_send (instr) ? add (order, lane_number (instr->device, PLAN_STREAM_COMPUTE), (int)at) : NONE;
  guint op = add (order, lane_number (from, instr->stream), (int)at);

  wait_for (order, op, plan_order_begins_at (from));
  if (place != NONE)
    {
      wait_for (order, op, order->newest[lane_number (from, PLAN_STREAM_COMPUTE)]);
      wait_for (order, op, place);
    }
  for (guint k = 0; instr->after != NULL && k < instr->after->len; k++)
    {
      gpointer i = g_hash_table_lookup (position, g_ptr_array_index (instr->after, k));

      wait_for (order, op, order->over[GPOINTER_TO_UINT (i)]);
    }
  order->reads[at] = order->writes[at] = order->over[at] = op;
  if (place != NONE)
    order->writes[at] = place;
  if (!is_copy (instr) || place != NONE)
    return;
  order->writes[at] = order->over[at] = add (order, lane_number (instr->device, instr->stream), (int)at);
  wait_for (order, order->writes[at], op);
}

/* Computes `least` of each entry, from the last to the first. */
static void
find_least (PlanOrder *order, guint n_devices)
{
  for (guint d = 0; d < n_devices; d++)
    for (guint i = order->timeline[d]->len; i-- > 0;)
      {
        TimelineEntry *entry = &g_array_index (order->timeline[d], TimelineEntry, i);
        const guint *own = before (order, entry->op);

        for (guint k = 0; k < PLAN_N_STREAMS; k++)
          {
            entry->least[k] = own[d * PLAN_N_STREAMS + k];
            if (i + 1 < order->timeline[d]->len)
              entry->least[k] = MIN (entry->least[k], (entry + 1)->least[k]);
          }
      }
}

PlanOrder *
plan_order_new (PlanGraph *g)
{
  const guint n_devices = g->plan_devices->len;
  PlanOrder *order = g_new0 (PlanOrder, 1);
  g_autoptr (GHashTable) position = g_hash_table_new (NULL, NULL);

  order->n_lanes = n_devices * PLAN_N_STREAMS;
  order->lane = g_array_new (FALSE, FALSE, sizeof (guint));
  order->number = g_array_new (FALSE, FALSE, sizeof (guint));
  order->before = g_array_new (FALSE, TRUE, sizeof (guint));
  order->newest = g_new (guint, order->n_lanes + 1);
  order->reads = g_new (guint, g->schedule->len + 1);
  order->writes = g_new (guint, g->schedule->len + 1);
  order->over = g_new (guint, g->schedule->len + 1);
  order->timeline = g_new0 (GArray *, n_devices + 1);
  for (guint l = 0; l < order->n_lanes; l++)
    order->newest[l] = NONE;
  for (guint d = 0; d < n_devices; d++)
    {
      order->timeline[d] = g_array_new (FALSE, TRUE, sizeof (TimelineEntry));
      add (order, lane_number ((int)d, PLAN_STREAM_COMPUTE), -1);
    }
  for (guint i = 0; i < g->schedule->len; i++)
    {
      const PlanNode *instr = g_ptr_array_index (g->schedule, i);

      g_hash_table_insert (position, (gpointer)instr, GUINT_TO_POINTER (i));
      /* Setup instructions run before the first step, so they count as the beginning. */
      order->reads[i] = order->writes[i] = order->over[i] = plan_order_begins_at (instr->device);
      if (!instr->setup)
        add_instr (g, order, instr, i, position);
    }
  find_least (order, n_devices);
  return order;
}

void
plan_order_free (PlanOrder *order, const PlanGraph *g)
{
  for (guint d = 0; d < g->plan_devices->len; d++)
    g_array_unref (order->timeline[d]);
  g_array_unref (order->lane);
  g_array_unref (order->number);
  g_array_unref (order->before);
  g_free (order->newest);
  g_free (order->reads);
  g_free (order->writes);
  g_free (order->over);
  g_free (order->timeline);
  g_free (order);
}

guint
plan_order_begins_at (int device)
{
  return (guint)device;
}

guint
plan_order_reads_at (const PlanOrder *order, guint position)
{
  return order->reads[position];
}

guint
plan_order_writes_at (const PlanOrder *order, guint position)
{
  return order->writes[position];
}

/* The numbers `before` of an operation for the streams of its own device. */
static const guint *
before_here (const PlanOrder *order, guint op)
{
  return before (order, op) + lane_of (order, op) / PLAN_N_STREAMS * PLAN_N_STREAMS;
}

void
plan_span_touch (PlanSpan *span, const PlanOrder *order, guint op)
{
  const guint *over = before_here (order, op), stream = lane_of (order, op) % PLAN_N_STREAMS;
  const gboolean is_first = plan_span_is_empty (span);

  for (guint k = 0; k < PLAN_N_STREAMS; k++)
    span->begins[k] = is_first ? over[k] : MIN (span->begins[k], over[k]);
  span->ends[stream] = MAX (span->ends[stream], number_of (order, op));
}

gboolean
plan_span_is_over (const PlanSpan *span, const PlanOrder *order, guint op, gboolean but_for_itself)
{
  const guint *over = before_here (order, op), stream = lane_of (order, op) % PLAN_N_STREAMS;

  for (guint k = 0; k < PLAN_N_STREAMS; k++)
    if (span->ends[k] > over[k] + (but_for_itself && k == stream))
      return FALSE;
  return TRUE;
}

int
plan_span_last (const PlanSpan *span, const PlanOrder *order, guint device)
{
  const GArray *timeline = order->timeline[device];
  guint low = 0, high = timeline->len;

  while (low < high)
    {
      const guint middle = (low + high) / 2;
      const TimelineEntry *entry = &g_array_index (timeline, TimelineEntry, middle);
      gboolean is_after = TRUE;

      for (guint k = 0; k < PLAN_N_STREAMS; k++)
        is_after = is_after && span->ends[k] <= entry->least[k];
      if (is_after)
        high = middle;
      else
        low = middle + 1;
    }
  return low > 0 ? g_array_index (timeline, TimelineEntry, low - 1).position : -1;
}
