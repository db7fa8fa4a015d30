/* Memory by owner: marks the values that are gradients, names the owners, and computes the figures of a finished plan
 * on each device: the peak of live bytes by owner, and the list of storages. Other values have their owner from the
 * beginning (plan-import.c). loom-node-memory.c lists the same bytes by node. */
#include "engine/plan/loom-plan-steps.h"
#include "engine/plan/plan-private.h"

static const char *const owner_names[LOOM_N_OWNERS] = {
  [LOOM_OWNER_PARAMETERS] = "parameters",   [LOOM_OWNER_GRADIENTS] = "gradients", [LOOM_OWNER_OPTIMIZER] = "optimizer",
  [LOOM_OWNER_ACTIVATIONS] = "activations", [LOOM_OWNER_WORKSPACE] = "workspace", [LOOM_OWNER_DATA] = "data",
};

const char *
loom_owner_name (LoomOwner owner)
{
  g_return_val_if_fail (owner < LOOM_N_OWNERS, "?");

  return owner_names[owner];
}

LoomOwner
loom_owner_of_slot (LoomSlotKind kind)
{
  switch (kind)
    {
    case LOOM_SLOT_OPTIMIZER:
      return LOOM_OWNER_OPTIMIZER;
    case LOOM_SLOT_SCALAR:
      return LOOM_OWNER_WORKSPACE;
    case LOOM_SLOT_PARAMETER:
    case LOOM_SLOT_BUFFER:
    default:
      return LOOM_OWNER_PARAMETERS;
    }
}

/* TRUE for the update, and for exchanges of gradients before it. */
static gboolean
takes_gradients (const LoomPrim *prim, gconstpointer attrs)
{
  return prim->updates != NULL
         || ((prim->flags & LOOM_PRIM_COLLECTIVE) != 0 && loom_collective_along (prim, attrs) == LOOM_MESH_DATA);
}

void
graph_mark_gradients (PlanGraph *g)
{
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);

      if (instr->prim == NULL || !takes_gradients (instr->prim, instr->attrs))
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        if (node_in (instr, k) != 0)
          {
            PlanValue *v = graph_value (g, graph_root (g, node_in (instr, k)));

            if (v->slot < 0 && v->region == LOOM_REGION_BACKWARD)
              v->owner = LOOM_OWNER_GRADIENTS;
          }
    }
}

/* Finds the time at which most bytes are alive, by a sweep over the live ranges; −1 if there are none. */
static int
find_peak (PlanGraph *g, guint device, LoomPlanMemory *memory)
{
  guint n = g->schedule->len + 3; /* index 0 is time −1 */
  g_autofree gssize *change = g_new0 (gssize, n * LOOM_N_OWNERS);
  gssize live[LOOM_N_OWNERS] = { 0 };
  int peak = -1;

  for (guint i = 0; i < g->storages->len; i++)
    {
      const PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

      if (s->device != (int)device || s->block >= 0 || !graph_in_arena (g, s))
        continue;
      change[(guint)(s->first + 1) * LOOM_N_OWNERS + s->owner] += (gssize)s->bytes;
      change[(guint)MIN (s->last + 2, (int)n - 1) * LOOM_N_OWNERS + s->owner] -= (gssize)s->bytes;
    }
  for (guint t = 0; t + 1 < n; t++)
    {
      gsize sum = 0;

      for (int o = 0; o < LOOM_N_OWNERS; o++)
        {
          live[o] += change[t * LOOM_N_OWNERS + (guint)o];
          sum += (gsize)live[o];
        }
      if (sum <= memory->lower_bound)
        continue;
      memory->lower_bound = sum;
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        memory->peak[o] = (gsize)live[o];
      peak = (int)t;
    }
  return peak;
}

static void
hold (LoomPlan *plan, const PlanStorage *s, LoomOwner owner)
{
  PlanHolding holding = { s->origin, (guint)s->device, owner, s->bytes, s->once };

  g_array_append_val (plan->holdings, holding);
}

/* By storage: the bytes of its parts, which a block counts as. (transfer full) */
static gsize *
bytes_of_parts (const PlanGraph *g)
{
  gsize *parts = g_new0 (gsize, g->storages->len + 1);

  for (guint i = 0; i < g->storages->len; i++)
    {
      const PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

      if (s->block >= 0)
        parts[s->block] += s->bytes;
    }
  return parts;
}

/* Records the owners of the bytes that are alive at the peak. */
static void
hold_peak (LoomPlan *plan, PlanGraph *g, guint device, int peak)
{
  g_autofree gsize *parts = bytes_of_parts (g);

  for (guint i = 0; i < g->storages->len; i++)
    {
      const PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);
      const PlanStorage *whole = s->block >= 0 ? &g_array_index (g->storages, PlanStorage, (guint)s->block) : s;
      PlanStorage rest = *s;

      if (s->device != (int)device || !graph_in_arena (g, s) || whole->first + 1 > peak || whole->last + 2 <= peak)
        continue;
      rest.bytes -= MIN (rest.bytes, parts[i]);
      hold (plan, &rest, whole->owner);
    }
}

/* Records the storages of a device outside the slots. The parts of a block are all alive while it is. */
static void
list_storages (LoomPlan *plan, PlanGraph *g, guint device)
{
  const guint last = g->schedule->len > 0 ? g->schedule->len - 1 : 0;
  g_autofree gsize *parts = bytes_of_parts (g);

  for (guint i = 0; i < g->storages->len; i++)
    {
      const PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);
      const PlanStorage *whole = s->block >= 0 ? &g_array_index (g->storages, PlanStorage, (guint)s->block) : s;
      const gboolean in_arena = graph_in_arena (g, s);
      LoomPlanStorage to = { s->origin, device, in_arena ? whole->owner : s->owner, s->bytes, 0, last, !in_arena };

      if (s->device != (int)device || s->slot >= 0)
        continue;
      if (in_arena)
        {
          to.bytes -= MIN (to.bytes, parts[i]);
          /* Setup instructions, which come first, all have the time −1. */
          to.first = (guint)MAX (whole->first, 0);
          to.last = whole->last < 0 ? MAX (plan->n_setup, 1) - 1 : (guint)MIN (whole->last, (int)last);
        }
      else if (s->input >= 0)
        to.owner = LOOM_OWNER_DATA;
      if (to.bytes > 0)
        g_array_append_val (plan->storages, to);
    }
}

/* Values on different lanes may share bytes although the listed order has them alive together. Subtracts the bytes that
 * are counted twice from the holdings from `first` on, largest first, and from their owners in `peak`. */
static void
count_once (LoomPlan *plan, guint first, LoomPlanMemory *memory)
{
  gsize excess = memory->lower_bound - MIN (memory->lower_bound, memory->arena);

  memory->lower_bound -= excess;
  while (excess > 0)
    {
      PlanHolding *most = NULL;

      for (guint i = first; i < plan->holdings->len; i++)
        {
          PlanHolding *holding = &g_array_index (plan->holdings, PlanHolding, i);

          most = most == NULL || holding->bytes > most->bytes ? holding : most;
        }
      gsize less = most != NULL ? MIN (excess, most->bytes) : 0;
      if (less == 0)
        return;
      most->bytes -= less;
      memory->peak[most->owner] -= less;
      excess -= less;
    }
}

void
graph_export_memory (PlanGraph *g, LoomPlan *plan)
{
  for (guint d = 0; d < g->plan_devices->len; d++)
    {
      LoomPlanMemory memory = { 0 };

      memory.arena = graph_arena_bytes (g, d);
      for (guint i = 0; i < plan->slot_device->len; i++)
        if (loom_plan_slot_device (plan, i) == d)
          {
            const LoomSlot *slot = loom_program_get_slot (g->program, i);

            memory.state[loom_owner_of_slot (slot->kind)] += loom_plan_slot_bytes (slot);
          }
      const guint first = plan->holdings->len;

      hold_peak (plan, g, d, find_peak (g, d, &memory));
      count_once (plan, first, &memory);
      /* Inputs that are read in place belong to the caller, but a step needs their memory. */
      for (guint i = 0; i < g->storages->len; i++)
        {
          const PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

          if (s->device == (int)d && s->input >= 0 && !g_array_index (g->input_copied, gboolean, (guint)s->input))
            {
              memory.peak[LOOM_OWNER_DATA] += s->bytes;
              hold (plan, s, LOOM_OWNER_DATA);
            }
          if (s->device == (int)d && s->once)
            {
              memory.once[s->owner] += s->bytes;
              hold (plan, s, s->owner);
            }
        }
      list_storages (plan, g, d);
      g_array_append_val (plan->memory, memory);
    }
}

void
loom_plan_memory (const LoomPlan *plan, guint device, LoomPlanMemory *memory)
{
  *memory = g_array_index (plan->memory, LoomPlanMemory, device);
}

gsize
loom_plan_slot_bytes (const LoomSlot *slot)
{
  gsize bytes = loom_dtype_size (slot->dtype);

  for (int r = 0; r < slot->rank; r++)
    bytes *= (gsize)slot->dim[r];
  return (bytes + 63) / 64 * 64; /* each is aligned to 64 bytes, see loom_state_memory() */
}

void
loom_plan_memory_join (LoomPlanMemory *memory, const LoomPlanMemory *other)
{
  gboolean larger = other->arena > memory->arena;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      memory->once[o] += other->once[o];
      memory->state[o] = MAX (memory->state[o], other->state[o]);
      if (larger)
        memory->peak[o] = other->peak[o];
    }
  if (!larger)
    return;
  memory->arena = other->arena;
  memory->lower_bound = other->lower_bound;
}

void
loom_plan_memory_sum (const LoomPlanMemory *memory, gsize bytes[LOOM_N_OWNERS])
{
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    bytes[o] = memory->state[o] + memory->once[o] + memory->peak[o];
}
