/* What a run needs that does not fit into its devices, and the batch with which it would.
 *
 * Plans say what they need without taking it, so batches are tried by planning alone. Of several ranks each plans its
 * own part, without a word to the others: the one whose device is too small says so for itself.
 *
 * A run keeps several plans over one state: of the full batch and of an epoch's short last one, for training and for
 * evaluation, and the update. Each keeps something beside the others (what it makes once, where its batches come up
 * to), so that the first may fit and a later one not; that is found out before the first step. */
#include "engine/core/loom-bytes.h"
#include "engine/train/trainer-private.h"

/* What the plans of a run need on one device. */
typedef struct
{
  LoomPlanDevice *device;
  LoomPlanMemory memory;
} Need;

/* The memory of a device, or the machine's, which its processor's devices share. */
typedef struct
{
  gsize bytes[LOOM_N_OWNERS], sum; /* that are needed of it */
  gsize room;                      /* what is free, and what the run has of it; G_MAXSIZE: nobody knows */
  char *names;                     /* of the devices, with commas */
} Room;

static void
room_clear (Room *room)
{
  g_free (room->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Room, room_clear)

/* ---- what is needed ------------------------------------------------------- */

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
join_program (LoomTrainer *t, LoomProgram *program, GArray *needs)
{
  LoomPlanOptions options
      = { .device = t->device,
          .mesh = t->server != NULL ? NULL : trainer_mesh (t), /* gradients are pushed to a server */
          .strict_devices = loom_graph_strict_devices (t->graph) };
  g_autoptr (LoomPlan) plan = loom_plan_new (program, t->devices, &options, NULL);

  if (plan == NULL)
    return FALSE;
  join_plan (needs, plan);
  return TRUE;
}

/* A batch of so many samples: this rank's part of it. */
static gboolean
join_part (LoomTrainer *t, const TrainerPart *part, gboolean with_update, GArray *needs)
{
  g_autoptr (LoomStep) step = loom_step_new (t->graph, t->spec, part->batch, part->training, NULL);
  const gboolean has_update = t->server == NULL || t->comm->rank == 0; /* of a parameter server it is rank 0's alone */

  return step != NULL && (t->server != NULL || trainer_divide_step (t, step, NULL))
         && join_program (t, step->program, needs)
         && (!with_update || step->update == NULL || !has_update || join_program (t, step->update, needs));
}

static GArray *
needs_new (void)
{
  return g_array_new (FALSE, TRUE, sizeof (Need));
}

/* Of a whole run; NULL where there is no such step. A last batch that is too short to be a step is left out
 * (drop_last), and adds nothing. */
static GArray *
find_needs (LoomTrainer *t, gint64 batch)
{
  g_autoptr (GArray) needs = needs_new ();
  TrainerPart parts[TRAINER_MAX_PARTS];
  const guint n = trainer_find_parts (t, batch, parts);

  for (guint i = 0; i < n; i++)
    if (!join_part (t, &parts[i], i == 0, needs) && parts[i].batch == batch)
      return NULL;
  return g_steal_pointer (&needs);
}

/* ---- what there is ---------------------------------------------------------- */

static gboolean
shares_memory (const LoomPlanDevice *a, const LoomPlanDevice *b)
{
  return a == b || (a->info.host_memory && b->info.host_memory);
}

static void
measure (LoomTrainer *t, const GArray *needs, const LoomPlanDevice *of, Room *room)
{
  g_autoptr (GString) names = g_string_new (NULL);
  LoomDeviceInfo now = { 0 }; /* not the device's own: several threads may ask */

  *room = (Room){ 0 };
  of->backend->device_info (of->device, &now);
  for (guint i = 0; i < needs->len; i++)
    {
      const Need *need = &g_array_index (needs, Need, i);
      gsize bytes[LOOM_N_OWNERS], held[LOOM_N_OWNERS];

      if (!shares_memory (need->device, of))
        continue;
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", need->device->name);
      loom_plan_memory_sum (&need->memory, bytes);
      loom_state_memory (t->state, need->device, held);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        {
          room->bytes[o] += bytes[o];
          room->sum += bytes[o];
          room->room += held[o];
        }
      /* The arena may be larger than what is alive at once. */
      room->sum += need->memory.arena - MIN (need->memory.arena, need->memory.lower_bound);
    }
  room->room = now.memory_free > 0 ? room->room + now.memory_free : G_MAXSIZE;
  room->names = g_string_free (g_steal_pointer (&names), FALSE);
}

/* The memory that lacks most, or that there is least left of. */
static void
find_tightest (LoomTrainer *t, const GArray *needs, Room *tightest)
{
  *tightest = (Room){ .room = G_MAXSIZE };
  for (guint i = 0; i < needs->len; i++)
    {
      g_auto (Room) room = { 0 };

      measure (t, needs, g_array_index (needs, Need, i).device, &room);
      if (tightest->names != NULL && (double)room.sum - room.room <= (double)tightest->sum - tightest->room)
        continue;
      room_clear (tightest);
      *tightest = room;
      room.names = NULL;
    }
}

static gboolean
fits (LoomTrainer *t, const GArray *needs)
{
  g_auto (Room) room = { 0 };

  find_tightest (t, needs, &room);
  return room.sum <= room.room;
}

/* The largest batch of a rank below this one that fits, where there are so many ranks; of sixteen and more a multiple
 * of eight, as nobody wants another. 0: none. */
static gint64
find_batch (LoomTrainer *t, gint64 batch, gint64 ranks)
{
  gint64 good = 0, too_large = batch;

  while (too_large - good > MAX (1, good / 16))
    {
      gint64 middle = good + (too_large - good) / 2;
      g_autoptr (GArray) needs = find_needs (t, middle * ranks);

      if (needs != NULL && fits (t, needs))
        good = middle;
      else
        too_large = middle;
    }
  return good >= 16 ? good / 8 * 8 : good;
}

/* ---- sentences ---------------------------------------------------------------- */

/* What holds how much where, and of a run that lacks room the batch that has it. */
static void
describe (LoomTrainer *t, gint64 batch, const Room *room, GString *words)
{
  /* A batch is divided among these; a rank that a server serves has its own. */
  const gint64 ranks = t->server != NULL ? 1 : MAX (1, t->ranks);
  g_autofree char *sum = loom_bytes_to_string ((double)room->sum), *there = NULL;
  gint64 good;

  g_string_append_printf (words, " The run needs %s on %s:", sum, room->names);
  for (int o = 0, n = 0; o < LOOM_N_OWNERS; o++)
    if (room->bytes[o] > 0)
      {
        g_autofree char *size = loom_bytes_to_string ((double)room->bytes[o]);

        g_string_append_printf (words, "%s %s for %s", n++ > 0 ? "," : "", size, loom_owner_name ((LoomOwner)o));
      }
  if (room->sum <= room->room)
    {
      g_string_append_c (words, '.');
      return;
    }
  there = loom_bytes_to_string ((double)room->room);
  g_string_append_printf (words, "; %s are available.", there);
  good = find_batch (t, (batch + ranks - 1) / ranks, ranks);
  if (good > 0 && t->comm != NULL)
    g_string_append_printf (words, " On this rank, %d, a batch of %" G_GINT64_FORMAT " for each rank fits.",
                            t->comm->rank, good);
  else if (good > 0)
    g_string_append_printf (words, " A batch of %" G_GINT64_FORMAT " fits.", good);
  else
    g_string_append (words, " Not even a batch of one sample fits.");
}

void
trainer_explain_room (LoomTrainer *t, gint64 batch, GError **error)
{
  g_autoptr (GArray) needs = NULL;
  g_autoptr (GString) words = NULL;
  g_auto (Room) room = { 0 };

  if (error == NULL || !g_error_matches (*error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    return;
  needs = find_needs (t, batch);
  if (needs == NULL)
    return;
  find_tightest (t, needs, &room);
  words = g_string_new ((*error)->message);
  describe (t, batch, &room, words);
  g_free ((*error)->message);
  (*error)->message = g_string_free (g_steal_pointer (&words), FALSE);
}

static gboolean
part_fits (LoomTrainer *t, const GArray *needs, const TrainerPart *part, gint64 batch, GError **error)
{
  g_autoptr (GString) words = NULL;
  g_auto (Room) room = { 0 }, of_run = { 0 };
  g_autoptr (GArray) all = NULL;

  find_tightest (t, needs, &room);
  if (room.sum <= room.room)
    return TRUE;
  /* Told of the whole run, of which this part is the first that finds no room. */
  all = find_needs (t, batch);
  find_tightest (t, all != NULL ? all : needs, &of_run);
  words = g_string_new (NULL);
  g_string_append_printf (words,
                          "%s, of %" G_GINT64_FORMAT " samples, would not fit into the memory of %s with the rest of "
                          "the run, so the run does not start.",
                          part->name, part->batch, room.names);
  describe (t, batch, &of_run, words);
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, words->str);
  return FALSE;
}

gboolean
trainer_check_room (LoomTrainer *t, GError **error)
{
  g_autoptr (GArray) needs = needs_new ();
  g_auto (Room) room = { 0 };
  const TrainerPlan *first = t->plans->pdata[0];
  const gint64 batch = first->step->batch;
  TrainerPart parts[TRAINER_MAX_PARTS];
  const guint n = trainer_find_parts (t, batch, parts);

  /* Of a server's ranks each has other batches, from one epoch to the next. */
  if (t->spec->epochs == 0 || t->server != NULL)
    return TRUE;
  join_plan (needs, loom_exec_plan (first->exec));
  if (t->update != NULL)
    join_plan (needs, loom_exec_plan (t->update));
  find_tightest (t, needs, &room);
  /* Planning takes time, and none of the others needs as much as a full step with all its gradients. */
  if (room.sum <= room.room / 2)
    return TRUE;
  for (guint i = 0; i < n; i++)
    if ((i == 0 || join_part (t, &parts[i], FALSE, needs)) && !part_fits (t, needs, &parts[i], batch, error))
      return FALSE;
  return TRUE;
}
