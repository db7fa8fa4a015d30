/* Computes the happens-before relation of a plan's operations in one walk along the schedule.
 *
 * A lane is a stream of a device and runs its operations in order. An event orders an operation after one of another
 * lane, and so after everything that precedes that one. One number per lane describes what precedes an operation: how
 * many of that lane's operations are finished when it begins (the vector clocks of Fidge and Mattern, 1988).
 *
 * An operation accesses only the memory of its lane's device, so a copy between devices is two operations. If the host
 * makes it, it reads on the source's lane and then writes on the destination's. If the devices make it, it is an
 * operation of the source's send lane, preceded by one of the destination's compute lane: an event there says that the
 * memory is free. */
#include "engine/plan/plan-private.h"

/* An operation of a device in the order of the schedule. */
typedef struct
{
  int position;                /* in the schedule; -1: the beginning */
  guint op;
  guint least[WORK_N_STREAMS]; /* for each stream the minimum of `before` over this and all later operations of the
                                  schedule */
} Moment;

struct _WorkOrder
{
  guint n_lanes;
  GArray *lane, *number; /* guint by operation: its lane, and its number there, from 1 */
  GArray *before;        /* guint by operation and lane: the operations of that lane that precede it */
  guint *newest;         /* operation by lane; NONE */
  guint *reads, *writes; /* operation by position in the schedule */
  guint *over;           /* likewise, its last operation */
  GArray **moments;      /* Moment, by device */
};

#define NONE G_MAXUINT

static guint *
before (const WorkOrder *order, guint op)
{
  return &g_array_index (order->before, guint, (gsize)op * order->n_lanes);
}

static guint
lane_of (const WorkOrder *order, guint op)
{
  return g_array_index (order->lane, guint, op);
}

static guint
number_of (const WorkOrder *order, guint op)
{
  return g_array_index (order->number, guint, op);
}

static void
wait_for (WorkOrder *order, guint op, guint other)
{
  guint *own = before (order, op);
  const guint *his = before (order, other);

  for (guint l = 0; l < order->n_lanes; l++)
    own[l] = MAX (own[l], his[l]);
  own[lane_of (order, other)] = MAX (own[lane_of (order, other)], number_of (order, other));
}

/* Adds an operation to the end of its lane. */
static guint
add (WorkOrder *order, guint lane, int position)
{
  const guint op = order->lane->len, newest = order->newest[lane];
  const guint number = newest == NONE ? 1 : number_of (order, newest) + 1;
  const Moment moment = { .position = position, .op = op };

  g_array_append_val (order->lane, lane);
  g_array_append_val (order->number, number);
  g_array_set_size (order->before, (op + 1) * order->n_lanes);
  if (newest != NONE)
    wait_for (order, op, newest);
  order->newest[lane] = op;
  g_array_append_val (order->moments[lane / WORK_N_STREAMS], moment);
  return op;
}

static guint
lane_number (int device, int stream)
{
  return (guint)device * WORK_N_STREAMS + (guint)stream;
}

static gboolean
is_copy (const WorkInstr *instr)
{
  return instr->prim == NULL;
}

/* Adds the instruction at a position; `position` has the earlier ones. */
static void
add_instr (Work *g, WorkOrder *order, const WorkInstr *instr, guint at, GHashTable *position)
{
  const int from = is_copy (instr) ? work_value (g, work_root (g, work_in (instr, 0)))->device : instr->device;
  const guint place = work_is_send (instr) ? add (order, lane_number (instr->device, WORK_COMPUTE), (int)at) : NONE;
  guint op = add (order, lane_number (from, instr->stream), (int)at);

  wait_for (order, op, work_begins_at (from));
  if (place != NONE)
    {
      wait_for (order, op, order->newest[lane_number (from, WORK_COMPUTE)]);
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

/* Computes `least` of each moment, from the last to the first. */
static void
find_least (WorkOrder *order, guint n_devices)
{
  for (guint d = 0; d < n_devices; d++)
    for (guint i = order->moments[d]->len; i-- > 0;)
      {
        Moment *moment = &g_array_index (order->moments[d], Moment, i);
        const guint *own = before (order, moment->op);

        for (guint k = 0; k < WORK_N_STREAMS; k++)
          {
            moment->least[k] = own[d * WORK_N_STREAMS + k];
            if (i + 1 < order->moments[d]->len)
              moment->least[k] = MIN (moment->least[k], (moment + 1)->least[k]);
          }
      }
}

WorkOrder *
work_order_new (Work *g)
{
  const guint n_devices = g->plan_devices->len;
  WorkOrder *order = g_new0 (WorkOrder, 1);
  g_autoptr (GHashTable) position = g_hash_table_new (NULL, NULL);

  order->n_lanes = n_devices * WORK_N_STREAMS;
  order->lane = g_array_new (FALSE, FALSE, sizeof (guint));
  order->number = g_array_new (FALSE, FALSE, sizeof (guint));
  order->before = g_array_new (FALSE, TRUE, sizeof (guint));
  order->newest = g_new (guint, order->n_lanes + 1);
  order->reads = g_new (guint, g->schedule->len + 1);
  order->writes = g_new (guint, g->schedule->len + 1);
  order->over = g_new (guint, g->schedule->len + 1);
  order->moments = g_new0 (GArray *, n_devices + 1);
  for (guint l = 0; l < order->n_lanes; l++)
    order->newest[l] = NONE;
  for (guint d = 0; d < n_devices; d++)
    {
      order->moments[d] = g_array_new (FALSE, TRUE, sizeof (Moment));
      add (order, lane_number ((int)d, WORK_COMPUTE), -1);
    }
  for (guint i = 0; i < g->schedule->len; i++)
    {
      const WorkInstr *instr = g_ptr_array_index (g->schedule, i);

      g_hash_table_insert (position, (gpointer)instr, GUINT_TO_POINTER (i));
      /* What runs before the first step is part of the beginning. */
      order->reads[i] = order->writes[i] = order->over[i] = work_begins_at (instr->device);
      if (!instr->setup)
        add_instr (g, order, instr, i, position);
    }
  find_least (order, n_devices);
  return order;
}

void
work_order_free (WorkOrder *order, const Work *g)
{
  for (guint d = 0; d < g->plan_devices->len; d++)
    g_array_unref (order->moments[d]);
  g_array_unref (order->lane);
  g_array_unref (order->number);
  g_array_unref (order->before);
  g_free (order->newest);
  g_free (order->reads);
  g_free (order->writes);
  g_free (order->over);
  g_free (order->moments);
  g_free (order);
}

guint
work_begins_at (int device)
{
  return (guint)device;
}

guint
work_reads_at (const WorkOrder *order, guint position)
{
  return order->reads[position];
}

guint
work_writes_at (const WorkOrder *order, guint position)
{
  return order->writes[position];
}

/* Its `before` for the streams of its own device. */
static const guint *
before_here (const WorkOrder *order, guint op)
{
  return before (order, op) + lane_of (order, op) / WORK_N_STREAMS * WORK_N_STREAMS;
}

void
work_span_touch (WorkSpan *span, const WorkOrder *order, guint op)
{
  const guint *over = before_here (order, op), stream = lane_of (order, op) % WORK_N_STREAMS;
  const gboolean is_first = work_span_is_empty (span);

  for (guint k = 0; k < WORK_N_STREAMS; k++)
    span->begins[k] = is_first ? over[k] : MIN (span->begins[k], over[k]);
  span->ends[stream] = MAX (span->ends[stream], number_of (order, op));
}

gboolean
work_span_is_over (const WorkSpan *span, const WorkOrder *order, guint op, gboolean but_for_itself)
{
  const guint *over = before_here (order, op), stream = lane_of (order, op) % WORK_N_STREAMS;

  for (guint k = 0; k < WORK_N_STREAMS; k++)
    if (span->ends[k] > over[k] + (but_for_itself && k == stream))
      return FALSE;
  return TRUE;
}

int
work_span_last (const WorkSpan *span, const WorkOrder *order, guint device)
{
  const GArray *moments = order->moments[device];
  guint low = 0, high = moments->len;

  while (low < high)
    {
      const guint middle = (low + high) / 2;
      const Moment *moment = &g_array_index (moments, Moment, middle);
      gboolean is_behind = TRUE;

      for (guint k = 0; k < WORK_N_STREAMS; k++)
        is_behind = is_behind && span->ends[k] <= moment->least[k];
      if (is_behind)
        high = middle;
      else
        low = middle + 1;
    }
  return low > 0 ? g_array_index (moments, Moment, low - 1).position : -1;
}
