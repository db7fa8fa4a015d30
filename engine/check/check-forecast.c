/* The forecast of memory: recomputes the sizes of arena, setup results and state, and the peak, from the offsets and
 * live ranges of values. */
#include "engine/check/check-private.h"

#include "engine/plan/loom-plan-steps.h"

#define ALIGNMENT 64

static gsize
aligned (gsize bytes)
{
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A piece of the arena with the instructions between which it is in use; -1: from before the first one. */
typedef struct
{
  gsize offset, bytes;
  int first, last;
} Lease;

static int
compare_leases (gconstpointer a, gconstpointer b)
{
  const Lease *x = a, *y = b;

  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  if (x->last != y->last)
    return x->last < y->last ? -1 : 1;
  return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : 0;
}

/* TRUE if two leases are those of values that were made in place of each other, perhaps of different sizes. */
static gboolean
is_same_storage (const Lease *a, const Lease *b)
{
  return a->offset == b->offset && a->first == b->first && a->last == b->last;
}

static gboolean
is_inside (const Lease *lease, const LoomPlanArea *area)
{
  return lease->offset >= area->offset && lease->offset + lease->bytes <= area->offset + area->bytes;
}

/* Moves values of `leases` into the lease of all small results: those that are alive at the end, and those in place of
 * which these were made, directly or in several steps, as by a sum over chunks. The instruction that makes a value in
 * place of another is the last that reads the other. */
static void
gather_results (GArray *leases, const LoomPlanArea *area, int end)
{
  Lease all = { area->offset, area->bytes, G_MAXINT, -1 };
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (Lease));
  gboolean found = TRUE;

  while (found)
    {
      found = FALSE;
      for (guint i = leases->len; i-- > 0;)
        {
          const Lease lease = g_array_index (leases, Lease, i);
          gboolean is_member = lease.last >= end;

          for (guint m = 0; m < members->len && !is_member; m++)
            {
              const Lease *member = &g_array_index (members, Lease, m);

              is_member = member->offset == lease.offset && member->first == lease.last;
            }
          if (!is_member || !is_inside (&lease, area))
            continue;
          g_array_append_val (members, lease);
          g_array_remove_index_fast (leases, i);
          all.first = MIN (all.first, lease.first);
          all.last = MAX (all.last, lease.last);
          found = TRUE;
        }
    }
  if (members->len > 0)
    g_array_append_val (leases, all);
}

/* The arena's leases: of values, one for those that were made in place of each other; of scratch memory; and one for
 * all small results. */
static GArray *
find_leases (const LoomPlan *plan, guint device)
{
  GArray *leases = g_array_new (FALSE, FALSE, sizeof (Lease));
  const LoomPlanArea results = loom_plan_results (plan, device);

  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    {
      const LoomPlanValue *value = loom_plan_value (plan, v);
      const Lease lease
          = { value->location.offset, aligned (loom_desc_bytes (&value->desc)), (int)value->first, (int)value->last };

      if (value->location.kind == LOOM_LOCATION_ARENA && value->location.device == device && value->root == v
          && lease.bytes > 0)
        g_array_append_val (leases, lease);
    }
  gather_results (leases, &results, (int)loom_plan_n_instrs (plan));
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const int at = i < loom_plan_n_setup (plan) ? -1 : (int)i;
      const Lease scratch = { instr->scratch, instr->kernel != NULL ? aligned (instr->kernel->scratch_bytes) : 0, at,
                              instr->is_async && instr->until < loom_plan_n_instrs (plan) ? (int)instr->until : at };

      if (scratch.bytes > 0 && instr->device == device)
        g_array_append_val (leases, scratch);
    }
  return leases;
}

/* The largest sum of bytes in use at once; of the values of a storage the largest counts. */
static gsize
find_peak (const LoomPlan *plan, GArray *leases)
{
  const guint n = loom_plan_n_instrs (plan) + 4;
  g_autofree gint64 *change = g_new0 (gint64, n);
  gint64 now = 0, most = 0;

  g_array_sort (leases, compare_leases);
  for (guint i = 0; i < leases->len; i++)
    {
      const Lease *lease = &g_array_index (leases, Lease, i);

      if (i > 0 && is_same_storage (lease, lease - 1))
        continue;
      change[CLAMP (lease->first + 1, 0, (int)n - 2)] += (gint64)lease->bytes;
      change[CLAMP (lease->last + 2, 1, (int)n - 1)] -= (gint64)lease->bytes;
    }
  for (guint t = 0; t < n; t++)
    {
      now += change[t];
      most = MAX (most, now);
    }
  return (gsize)most;
}

static gsize
sum_of (const gsize bytes[LOOM_N_OWNERS])
{
  gsize sum = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    sum += bytes[o];
  return sum;
}

static void
compare (LoomCheckReport *report, const LoomPlan *plan, guint device, const char *what, gsize predicted, gsize found)
{
  if (predicted != found)
    check_fault (report, LOOM_CHECK_FORECAST, G_MAXUINT, G_MAXUINT,
                 "%s of %s is predicted as %" G_GSIZE_FORMAT " bytes, but the plan needs %" G_GSIZE_FORMAT, what,
                 loom_plan_device (plan, device)->name, predicted, found);
}

static gsize
arena_of (const LoomPlan *plan, guint device, const GArray *leases)
{
  const LoomPlanArea results = loom_plan_results (plan, device);
  gsize end = results.bytes > 0 ? results.offset + results.bytes : 0;

  for (guint i = 0; i < leases->len; i++)
    end = MAX (end, g_array_index (leases, Lease, i).offset + g_array_index (leases, Lease, i).bytes);
  return end;
}

/* Of setup results, and of what kernels keep. */
static gsize
setup_of (const LoomPlan *plan, guint device)
{
  gsize bytes = loom_plan_staging (plan, device).bytes;

  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    {
      const LoomPlanValue *value = loom_plan_value (plan, v);

      if (value->location.kind == LOOM_LOCATION_SETUP && value->location.device == device && value->root == v)
        bytes += aligned (loom_desc_bytes (&value->desc));
    }
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    if (loom_plan_instr (plan, i)->kernel != NULL && loom_plan_instr (plan, i)->device == device)
      bytes += aligned (loom_plan_instr (plan, i)->kernel->kept_bytes);
  return bytes;
}

static gsize
state_of (const LoomPlan *plan, guint device)
{
  const LoomProgram *program = loom_plan_program (plan);
  gsize bytes = 0;

  for (guint i = 0; i < loom_program_n_slots (program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, i);
      gsize own = loom_dtype_size (slot->dtype);

      for (int r = 0; r < slot->rank; r++)
        own *= (gsize)slot->dim[r];
      if (loom_plan_slot_device (plan, i) == device)
        bytes += aligned (own);
    }
  return bytes;
}

/* Inputs that are read in place count in the peak, although they are the caller's. */
static gsize
inputs_of (const LoomPlan *plan, guint device)
{
  gsize bytes = 0;

  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    {
      const LoomPlanValue *value = loom_plan_value (plan, v);

      if (value->location.kind == LOOM_LOCATION_INPUT && value->location.device == device && value->root == v)
        bytes += aligned (loom_desc_bytes (&value->desc));
    }
  return bytes;
}

/* TRUE if copies between devices or exchanges overlap the computation. */
static gboolean
has_lanes (const LoomPlan *plan)
{
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    if (loom_plan_instr (plan, i)->is_send || loom_plan_instr (plan, i)->is_async)
      return TRUE;
  return FALSE;
}

/* The memory that views show along a step has the peak of the forecast. */
static gsize
most_along (const LoomPlan *plan, guint device)
{
  g_autofree gsize *along = loom_plan_memory_along (plan, device);
  gsize most = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    most = MAX (most, sum_of (along + (gsize)i * LOOM_N_OWNERS));
  return most;
}

void
check_forecast (const LoomPlan *plan, LoomCheckReport *report)
{
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      g_autoptr (GArray) leases = find_leases (plan, d);
      const gsize arena = arena_of (plan, d, leases), peak = MIN (find_peak (plan, leases), arena);
      LoomPlanMemory memory;

      loom_plan_memory (plan, d, &memory);
      compare (report, plan, d, "the arena", memory.arena, arena);
      /* What is in use without a value in it is counted too: the parts of a block that are not written yet (flat
       * gradients, small results), and memory that other lanes may still read. */
      const gsize most = loom_plan_has_flat_gradients (plan) || has_lanes (plan)
                             ? arena
                             : MIN (arena, peak + aligned (loom_plan_results (plan, d).bytes));
      if (memory.lower_bound < peak || memory.lower_bound > most)
        compare (report, plan, d, "the peak", memory.lower_bound, peak);
      compare (report, plan, d, "the sum of the owners' peaks", sum_of (memory.peak),
               memory.lower_bound + inputs_of (plan, d));
      if (loom_plan_n_instrs (plan) > 0)
        compare (report, plan, d, "the memory along the step",
                 sum_of (memory.state) + sum_of (memory.once) + sum_of (memory.peak), most_along (plan, d));
      compare (report, plan, d, "the memory of setup results", sum_of (memory.once), setup_of (plan, d));
      compare (report, plan, d, "state", sum_of (memory.state), state_of (plan, d));
    }
}
