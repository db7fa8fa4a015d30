/* Checks whether the plans of a run fit into the memory of its devices.
 *
 * A run has several plans over one state: for the full batch and for an epoch's incomplete last one, for training and
 * for evaluation, and for the update. Each has memory of its own in addition (values that are computed once, buffers
 * for batches), so the first plan may fit and a later one not. This is checked before the first step. */
#include "engine/train/memory-budget.h"

#include "engine/core/loom-bytes.h"
#include "engine/train/run-parts.h"
#include "engine/train/step-division.h"

/* The memory that the plans of a run need on one device. */
typedef struct
{
  LoomPlanDevice *device;
  LoomPlanMemory memory;
} Need;

/* The memory of a device, or of the machine, which CPU devices share. */
typedef struct
{
  gsize bytes[LOOM_N_OWNERS], needed; /* by owner, and in all */
  gsize available;                    /* free, or already allocated by the run; G_MAXSIZE: unknown */
  char *names;                        /* of the devices, separated by commas */
} MemoryUse;

static void
memory_use_clear (MemoryUse *use)
{
  g_free (use->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemoryUse, memory_use_clear)

/* ---- needs ------------------------------------------------------- */

static void
join_plan (GArray *needs, const LoomPlan *plan)
{
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanDevice *device = loom_plan_device (plan, d);
      LoomPlanMemory memory;
      guint at = 0;

      while (at < needs->len && g_array_index (needs, Need, at).device != device)
        at++;
      if (at == needs->len)
        g_array_append_val (needs, (Need){ .device = device });
      loom_plan_memory (plan, d, &memory);
      loom_plan_memory_join (&g_array_index (needs, Need, at).memory, &memory);
    }
}

static gboolean
join_program (const MemoryBudget *self, LoomProgram *program, GArray *needs)
{
  LoomPlanOptions options
      = { .device = self->model->device,
          .mesh = self->group->has_server ? NULL : rank_group_mesh (self->group), /* gradients are pushed to a server */
          .strict_devices = loom_graph_strict_devices (self->model->graph) };
  g_autoptr (LoomPlan) plan = loom_plan_new (program, self->model->devices, &options, NULL);

  if (plan == NULL)
    return FALSE;
  join_plan (needs, plan);
  return TRUE;
}

/* Plans a batch of part->batch samples: this rank's shard. */
static gboolean
join_part (const MemoryBudget *self, const RunPart *part, gboolean with_update, GArray *needs)
{
  g_autoptr (LoomStep) step = loom_step_new (self->model->spec, part->batch, part->training, NULL);
  const gboolean has_update = rank_group_updates (self->group);

  return step != NULL && (self->group->has_server || step_divide (step, self->model, self->group, NULL))
         && join_program (self, step->program, needs)
         && (!with_update || step->update == NULL || !has_update || join_program (self, step->update, needs));
}

static GArray *
needs_new (void)
{
  return g_array_new (FALSE, TRUE, sizeof (Need));
}

/* The memory of a whole run; NULL if there is no such step. An incomplete last batch that drop_last skips needs no
 * memory. */
static GArray *
find_needs (const MemoryBudget *self, gint64 batch)
{
  g_autoptr (GArray) needs = needs_new ();
  RunPart parts[RUN_MAX_PARTS];
  const guint n = run_parts_find (self->data, self->model->spec, batch, parts);

  for (guint i = 0; i < n; i++)
    if (!join_part (self, &parts[i], i == 0, needs) && parts[i].batch == batch)
      return NULL;
  return g_steal_pointer (&needs);
}

/* ---- available memory ---------------------------------------------------------- */

static gboolean
shares_memory (const LoomPlanDevice *a, const LoomPlanDevice *b)
{
  return a == b || (a->info.host_memory && b->info.host_memory);
}

static void
measure (const MemoryBudget *self, const GArray *needs, const LoomPlanDevice *of, MemoryUse *use)
{
  g_autoptr (GString) names = g_string_new (NULL);
  LoomDeviceInfo now = { 0 }; /* not the device's own struct, because several threads may query it */

  *use = (MemoryUse){ 0 };
  of->backend->device_info (of->device, &now);
  for (guint i = 0; i < needs->len; i++)
    {
      const Need *need = &g_array_index (needs, Need, i);
      gsize bytes[LOOM_N_OWNERS], held[LOOM_N_OWNERS];

      if (!shares_memory (need->device, of))
        continue;
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", need->device->name);
      loom_plan_memory_sum (&need->memory, bytes);
      loom_state_memory (self->model->state, need->device, held);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        {
          use->bytes[o] += bytes[o];
          use->needed += bytes[o];
          use->available += held[o];
        }
      /* The arena may be larger than the live values at any time. */
      use->needed += need->memory.arena - MIN (need->memory.arena, need->memory.lower_bound);
    }
  use->available = self->available > 0   ? self->available
                   : now.memory_free > 0 ? use->available + now.memory_free
                                         : G_MAXSIZE;
  use->names = g_string_free (g_steal_pointer (&names), FALSE);
}

static gboolean
is_tighter (const MemoryUse *a, const MemoryUse *b)
{
  return (double)a->needed - a->available > (double)b->needed - b->available;
}

/* The memory that lacks most bytes, or that has the fewest left. */
static void
find_tightest (const MemoryBudget *self, const GArray *needs, MemoryUse *tightest)
{
  *tightest = (MemoryUse){ .available = G_MAXSIZE };
  for (guint i = 0; i < needs->len; i++)
    {
      g_auto (MemoryUse) use = { 0 };

      measure (self, needs, g_array_index (needs, Need, i).device, &use);
      if (tightest->names != NULL && !is_tighter (&use, tightest))
        continue;
      memory_use_clear (tightest);
      *tightest = use;
      use.names = NULL;
    }
}

/* ---- ranks of one machine ------------------------------------------------------ */

/* What each of several ranks needs of a memory. */
typedef struct
{
  gsize bytes, ranks;
} Share;

/* A memory that ranks of this machine use. */
typedef struct
{
  const LoomPlanDevice *device;
  MemoryUse use;  /* of all ranks together */
  guint worst;    /* the rank that needs most there */
  gsize most;     /* bytes that it needs */
  GArray *shares; /* Share, of each kind of ranks */
} Memory;

static void
memory_clear (gpointer memory)
{
  memory_use_clear (&((Memory *)memory)->use);
  g_array_unref (((Memory *)memory)->shares);
}

/* Of these ranks, those that use the same memory: the ranks of one CPU share it, and a GPU without a number is another
 * one for each rank, as far as there are others. */
static gsize
count_sharers (const MemoryBudget *self, const LoomPlanDevice *device, gsize ranks)
{
  LoomMessage message = { "" };
  gsize devices;

  if (device->info.host_memory || strchr (self->model->device, ':') != NULL)
    return ranks;
  devices = (gsize)MAX (device->backend->device_count (&message), 1);
  return (ranks + devices - 1) / devices;
}

static int
compare_shares (gconstpointer a, gconstpointer b)
{
  const gsize x = ((const Share *)a)->bytes, y = ((const Share *)b)->bytes;

  return x > y ? -1 : x < y;
}

/* Of the ranks that share the memory, those that need most. */
static void
add_up (const MemoryBudget *self, Memory *memory)
{
  gsize left = 0;

  for (guint i = 0; i < memory->shares->len; i++)
    left += g_array_index (memory->shares, Share, i).ranks;
  left = count_sharers (self, memory->device, left);
  g_array_sort (memory->shares, compare_shares);
  memory->use.needed = 0;
  for (guint i = 0; i < memory->shares->len; i++)
    {
      const Share *share = &g_array_index (memory->shares, Share, i);
      const gsize n = MIN (left, share->ranks);

      memory->use.needed += n * share->bytes;
      left -= n;
    }
}

static void
add_use (const MemoryBudget *self, const LoomPlanDevice *device, MemoryUse *use, GArray *memories)
{
  Memory *memory = NULL;

  for (guint m = 0; m < memories->len && memory == NULL; m++)
    if (shares_memory (g_array_index (memories, Memory, m).device, device))
      memory = &g_array_index (memories, Memory, m);
  if (memory == NULL)
    {
      g_array_append_val (memories, ((Memory){ device, *use, .shares = g_array_new (FALSE, FALSE, sizeof (Share)) }));
      use->names = NULL;
      memory = &g_array_index (memories, Memory, memories->len - 1);
    }
  g_array_append_val (memory->shares, ((Share){ use->needed, (gsize)MAX (self->alike, 1) }));
  if (use->needed <= memory->most)
    return;
  memory->worst = self->rank;
  memory->most = use->needed;
}

/* The memories that n kinds of ranks use; NULL if there is no such step. (transfer full) */
static GArray *
find_memories (const MemoryBudget *kinds, guint n, gint64 batch)
{
  g_autoptr (GArray) memories = g_array_new (FALSE, FALSE, sizeof (Memory));

  g_array_set_clear_func (memories, memory_clear);
  for (guint k = 0; k < n; k++)
    {
      g_autoptr (GArray) needs = find_needs (&kinds[k], batch);

      for (guint i = 0; needs != NULL && i < needs->len; i++)
        {
          const LoomPlanDevice *device = g_array_index (needs, Need, i).device;
          g_auto (MemoryUse) use = { 0 };
          gboolean is_counted = FALSE;

          for (guint j = 0; j < i && !is_counted; j++)
            is_counted = shares_memory (g_array_index (needs, Need, j).device, device);
          if (is_counted)
            continue;
          measure (&kinds[k], needs, device, &use);
          add_use (&kinds[k], device, &use, memories);
        }
      if (needs == NULL)
        return NULL;
    }
  for (guint m = 0; m < memories->len; m++)
    add_up (kinds, &g_array_index (memories, Memory, m));
  return g_steal_pointer (&memories);
}

/* NULL if there are no memories. */
static Memory *
tightest_of (const GArray *memories)
{
  Memory *tightest = NULL;

  for (guint m = 0; memories != NULL && m < memories->len; m++)
    if (tightest == NULL || is_tighter (&g_array_index (memories, Memory, m).use, &tightest->use))
      tightest = &g_array_index (memories, Memory, m);
  return tightest;
}

static gboolean
fits (const MemoryBudget *kinds, guint n, gint64 batch)
{
  g_autoptr (GArray) memories = find_memories (kinds, n, batch);
  const Memory *tightest = tightest_of (memories);

  return tightest != NULL && tightest->use.needed <= tightest->use.available;
}

/* The largest batch of a rank below this one that fits, if a batch is divided among this number of ranks; from 16 on a
 * multiple of 8. 0: none. */
static gint64
find_batch (const MemoryBudget *kinds, guint n, gint64 batch, gint64 ranks)
{
  gint64 good = 0, too_large = batch;

  while (too_large - good > MAX (1, good / 16))
    {
      gint64 middle = good + (too_large - good) / 2;

      if (fits (kinds, n, middle * ranks))
        good = middle;
      else
        too_large = middle;
    }
  return good >= 16 ? good / 8 * 8 : good;
}

/* ---- sentences ---------------------------------------------------------------- */

/* Describes the owners of the memory, and if it is not sufficient, the batch that fits. */
static void
describe (const MemoryBudget *self, gint64 batch, const MemoryUse *use, GString *words)
{
  /* A worker of a parameter server has a batch of its own. */
  const gint64 ranks = self->group->has_server ? 1 : MAX (1, self->shards);
  g_autofree char *sum = loom_bytes_to_string ((double)use->needed), *there = NULL;
  gint64 good;

  g_string_append_printf (words, " The run needs %s on %s:", sum, use->names);
  for (int o = 0, n = 0; o < LOOM_N_OWNERS; o++)
    if (use->bytes[o] > 0)
      {
        g_autofree char *size = loom_bytes_to_string ((double)use->bytes[o]);

        g_string_append_printf (words, "%s %s for %s", n++ > 0 ? "," : "", size, loom_owner_name ((LoomOwner)o));
      }
  if (use->needed <= use->available)
    {
      g_string_append_c (words, '.');
      return;
    }
  there = loom_bytes_to_string ((double)use->available);
  g_string_append_printf (words, "; %s are available.", there);
  good = find_batch (self, 1, (batch + ranks - 1) / ranks, ranks);
  if (good > 0 && self->group->comm != NULL)
    g_string_append_printf (words, " On this rank, %d, a batch of %" G_GINT64_FORMAT " for each rank fits.",
                            self->group->comm->rank, good);
  else if (good > 0)
    g_string_append_printf (words, " A batch of %" G_GINT64_FORMAT " fits.", good);
  else
    g_string_append (words, " Not even a batch of one sample fits.");
}

void
memory_budget_explain (const MemoryBudget *self, gint64 batch, GError **error)
{
  g_autoptr (GArray) needs = NULL;
  g_autoptr (GString) words = NULL;
  g_auto (MemoryUse) use = { 0 };

  if (error == NULL || !g_error_matches (*error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    return;
  needs = find_needs (self, batch);
  if (needs == NULL)
    return;
  find_tightest (self, needs, &use);
  words = g_string_new ((*error)->message);
  describe (self, batch, &use, words);
  g_free ((*error)->message);
  (*error)->message = g_string_free (g_steal_pointer (&words), FALSE);
}

/* The weakest division of state among the replicas, stronger than that of the run, with which it fits. */
static LoomShards
find_shards (const MemoryBudget *kinds, guint n, gint64 batch)
{
  LoomTrainSpec *spec = kinds->model->spec;
  const LoomShards own = spec->parallel.shards;
  LoomShards found = LOOM_SHARDS_NONE;

  if (kinds->group->has_server || kinds->shards < 2 || spec->optimizer->emit == NULL)
    return LOOM_SHARDS_NONE;
  for (guint s = own + 1; s <= LOOM_SHARDS_PARAMETERS && found == LOOM_SHARDS_NONE; s++)
    {
      spec->parallel.shards = (LoomShards)s;
      found = fits (kinds, n, batch) ? (LoomShards)s : LOOM_SHARDS_NONE;
    }
  spec->parallel.shards = own;
  return found;
}

gboolean
memory_budget_forecast (const MemoryBudget *kinds, guint n, gint64 batch, MemoryForecast *forecast, GError **error)
{
  g_autoptr (GArray) memories = find_memories (kinds, n, batch);
  Memory *tightest = tightest_of (memories);
  const gint64 ranks = kinds->group->has_server ? 1 : MAX (1, kinds->shards), own = batch / ranks;

  if (tightest == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "The step of the run cannot be planned for a batch of %d.",
                   (int)own);
      return FALSE;
    }
  *forecast = (MemoryForecast){ .names = g_steal_pointer (&tightest->use.names),
                                .needed = tightest->use.needed,
                                .available = tightest->use.available,
                                .worst = tightest->worst,
                                .most = tightest->most,
                                .largest = own };
  if (forecast->needed <= forecast->available)
    return TRUE;
  forecast->largest = find_batch (kinds, n, own, ranks);
  forecast->shards = find_shards (kinds, n, batch);
  return TRUE;
}

static gboolean
part_fits (const MemoryBudget *self, const GArray *needs, const RunPart *part, gint64 batch, GError **error)
{
  g_autoptr (GString) words = NULL;
  g_auto (MemoryUse) use = { 0 }, of_run = { 0 };
  g_autoptr (GArray) all = NULL;

  find_tightest (self, needs, &use);
  if (use.needed <= use.available)
    return TRUE;
  /* The error for the whole run, whose first part without enough memory is this one. */
  all = find_needs (self, batch);
  find_tightest (self, all != NULL ? all : needs, &of_run);
  words = g_string_new (NULL);
  g_string_append_printf (words,
                          "%s, of %" G_GINT64_FORMAT " samples, would not fit into the memory of %s with the rest of "
                          "the run, so the run does not start.",
                          part->name, part->batch, use.names);
  describe (self, batch, &of_run, words);
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, words->str);
  return FALSE;
}

gboolean
memory_budget_check (const MemoryBudget *self, gint64 batch, const LoomPlan *step, const LoomPlan *update,
                     GError **error)
{
  g_autoptr (GArray) needs = needs_new ();
  g_auto (MemoryUse) use = { 0 };
  RunPart parts[RUN_MAX_PARTS];
  const guint n = run_parts_find (self->data, self->model->spec, batch, parts);

  /* Workers of a server have batches of different sizes, from one epoch to the next. */
  if (self->model->spec->epochs == 0 || self->group->has_server)
    return TRUE;
  join_plan (needs, step);
  if (update != NULL)
    join_plan (needs, update);
  find_tightest (self, needs, &use);
  /* Planning takes time, and no other part needs as much memory as a full step with all its gradients. */
  if (use.needed <= use.available / 2)
    return TRUE;
  for (guint i = 0; i < n; i++)
    if ((i == 0 || join_part (self, &parts[i], FALSE, needs)) && !part_fits (self, needs, &parts[i], batch, error))
      return FALSE;
  return TRUE;
}
