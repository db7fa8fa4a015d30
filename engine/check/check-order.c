/* The order of accesses: a vector clock for each operation says how many operations of each lane are over when it
 * begins (Fidge and Mattern, 1988), and each access is compared with the last ones of the same bytes, as FastTrack does
 * for threads (Flanagan and Freund, 2009). Two accesses of which one writes must be ordered. Then every execution has
 * the order of the list for each byte, which check-memory.c assumes.
 *
 * Across steps nothing more is needed if a device's last operation of a step comes after every operation that accesses
 * its memory, because the next step begins after that; check_ends() proves it. The plan of a body is one step of this
 * kind for each iteration. */
#include "engine/check/check-private.h"

struct _CheckClocks
{
  const CheckTrace *trace;
  guint *number; /* by operation: its number on its lane, from 1 */
  guint *clock;  /* by operation and lane */
};

static guint *
clock_of (const CheckClocks *clocks, guint op)
{
  return clocks->clock + (gsize)op * clocks->trace->n_lanes;
}

static void
join (CheckClocks *clocks, guint op, guint other)
{
  const guint lane = g_array_index (clocks->trace->ops, CheckOp, other).lane;
  guint *own = clock_of (clocks, op);
  const guint *his = clock_of (clocks, other);

  for (guint l = 0; l < clocks->trace->n_lanes; l++)
    own[l] = MAX (own[l], his[l]);
  own[lane] = MAX (own[lane], clocks->number[other]);
}

CheckClocks *
check_clocks_new (const CheckTrace *trace)
{
  CheckClocks *clocks = g_new0 (CheckClocks, 1);
  g_autofree guint *newest = g_new (guint, trace->n_lanes + 1);

  clocks->trace = trace;
  clocks->number = g_new0 (guint, trace->ops->len + 1);
  clocks->clock = g_new0 (guint, (gsize)trace->ops->len * trace->n_lanes + 1);
  for (guint l = 0; l < trace->n_lanes; l++)
    newest[l] = G_MAXUINT;
  for (guint i = 0; i < trace->ops->len; i++)
    {
      const CheckOp *op = &g_array_index (trace->ops, CheckOp, i);

      if (newest[op->lane] != G_MAXUINT)
        join (clocks, i, newest[op->lane]);
      clocks->number[i] = newest[op->lane] != G_MAXUINT ? clocks->number[newest[op->lane]] + 1 : 1;
      for (guint w = 0; w < op->n_waits; w++)
        {
          const guint other = g_array_index (trace->waits, guint, op->first_wait + w);

          if (other < i)
            join (clocks, i, other);
        }
      newest[op->lane] = i;
    }
  return clocks;
}

void
check_clocks_free (CheckClocks *clocks)
{
  g_free (clocks->number);
  g_free (clocks->clock);
  g_free (clocks);
}

gboolean
check_clocks_precede (const CheckClocks *clocks, guint a, guint b)
{
  const guint lane = g_array_index (clocks->trace->ops, CheckOp, a).lane;

  return clock_of (clocks, b)[lane] >= clocks->number[a];
}

/* ---- the rule ------------------------------------------------------------------- */

typedef struct
{
  const CheckTrace *trace;
  CheckClocks *clocks;
  GPtrArray *maps; /* CheckMap by space */
  LoomCheckReport *report;
} Order;

static guint
instr_of (const Order *self, guint op)
{
  return g_array_index (self->trace->ops, CheckOp, op).instr;
}

/* The earlier operation must be over; `what` they do, with the earlier one first. */
static void
compare (Order *self, guint earlier, guint later, const CheckAccess *access, const char *what)
{
  const LoomPlan *plan = self->trace->plan;

  if (earlier == later
      || g_array_index (self->trace->ops, CheckOp, earlier).lane
             == g_array_index (self->trace->ops, CheckOp, later).lane)
    return;
  self->report->n_pairs++;
  if (check_clocks_precede (self->clocks, earlier, later))
    return;
  g_autofree char *first = check_name_instr (plan, instr_of (self, earlier)),
                  *second = check_name_instr (plan, instr_of (self, later)),
                  *value = check_name_value (plan, access->named);

  check_fault (self->report, LOOM_CHECK_ORDER, instr_of (self, later), access->named,
               "no event orders %s before %s, although one %s the bytes of %s, which the other %s", first, second,
               what[0] == 'r' ? "reads" : "writes", value, access->is_write ? "writes" : "reads");
}

static void
follow (Order *self, guint op, const CheckAccess *access)
{
  CheckMap **map = (CheckMap **)&g_ptr_array_index (self->maps, access->space);
  const guint lane = g_array_index (self->trace->ops, CheckOp, op).lane;
  CheckBytes **piece;
  guint n;

  if (*map == NULL)
    *map = check_map_new (self->trace->n_lanes);
  piece = check_map_cut (*map, access->begin, access->end, &n);
  for (guint i = 0; i < n; i++)
    {
      if (piece[i]->writer != G_MAXUINT)
        compare (self, piece[i]->writer, op, access, "write");
      for (guint l = 0; access->is_write && l < self->trace->n_lanes; l++)
        if (piece[i]->read[l] != 0)
          compare (self, piece[i]->read[l] - 1, op, access, "read");
      piece[i]->read[lane] = op + 1;
    }
  if (access->is_write)
    check_map_write (*map, access->begin, access->end, access->value, op);
}

/* Everything that touches a device's memory is over when its last operation of a step begins. */
static void
check_ends (Order *self)
{
  const guint n = self->trace->n_devices;
  const guint last = self->trace->ops->len - n; /* that of device 0 */

  for (guint i = 0; i < last; i++)
    {
      const CheckOp *op = &g_array_index (self->trace->ops, CheckOp, i);

      for (guint k = 0; k < op->n_accesses; k++)
        {
          const CheckAccess *access = &g_array_index (self->trace->accesses, CheckAccess, op->first_access + k);

          if (access->space >= 2 * n || check_clocks_precede (self->clocks, i, last + access->space % n))
            continue;
          g_autofree char *name = check_name_instr (self->trace->plan, op->instr);

          check_fault (self->report, LOOM_CHECK_ORDER, op->instr, access->named,
                       "a step can end, and the next one begin, before %s has finished", name);
          break;
        }
    }
}

/* An asynchronous exchange is waited for by a later instruction of the device's own lane. */
static void
check_waits (Order *self)
{
  const LoomPlan *plan = self->trace->plan;
  const guint n = loom_plan_n_instrs (plan);

  for (guint i = 0; i < n; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const LoomPlanInstr *wait = instr->is_async && instr->until < n ? loom_plan_instr (plan, instr->until) : NULL;
      g_autofree char *name = check_name_instr (plan, i);

      if (instr->is_async && (wait == NULL || instr->until <= i || !wait->is_wait || wait->device != instr->device))
        check_fault (self->report, LOOM_CHECK_ORDER, i, G_MAXUINT, "nothing waits for %s", name);
      if (instr->is_send && (instr->kernel != NULL || instr->until <= i))
        check_fault (self->report, LOOM_CHECK_ORDER, i, G_MAXUINT, "%s is waited for before it begins", name);
      for (guint k = 0; k < instr->n_sent; k++)
        if (instr->sent[k] >= i || !loom_plan_instr (plan, instr->sent[k])->is_send)
          check_fault (self->report, LOOM_CHECK_ORDER, i, G_MAXUINT, "%s waits for a copy that has not begun", name);
    }
}

static void
free_map (gpointer map)
{
  if (map != NULL)
    check_map_free (map);
}

void
check_order (const LoomPlan *plan, LoomCheckReport *report)
{
  g_autoptr (CheckTrace) trace = check_trace_new (plan);
  g_autoptr (CheckClocks) clocks = NULL;
  g_autoptr (GPtrArray) maps = NULL;
  Order self = { .trace = trace, .report = report };

  check_waits (&self);
  /* A single lane runs in the order of the list. */
  if (trace->n_lanes < 2)
    return;
  self.clocks = clocks = check_clocks_new (trace);
  self.maps = maps = g_ptr_array_new_with_free_func (free_map);
  g_ptr_array_set_size (maps, (int)trace->n_spaces);
  for (guint i = 0; i < trace->ops->len; i++)
    {
      const CheckOp *op = &g_array_index (trace->ops, CheckOp, i);

      for (guint k = 0; k < op->n_accesses; k++)
        follow (&self, i, &g_array_index (trace->accesses, CheckAccess, op->first_access + k));
    }
  check_ends (&self);
}
