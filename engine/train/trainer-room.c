/* What a run needs that does not fit into its device, and the batch with which it would.
 *
 * Plans say what they need without taking it, so batches are tried by planning alone. Of several ranks each plans its
 * own part, without a word to the others: the one whose device is too small says so for itself. */
#include "engine/core/loom-bytes.h"
#include "engine/train/trainer-private.h"

/* Adds what the plan of a program needs on the run's own device. */
static gboolean
join_program (LoomTrainer *t, LoomProgram *program, LoomPlanMemory *all)
{
  LoomPlanOptions options
      = { .device = t->device,
          .mesh = t->server != NULL ? NULL : trainer_mesh (t), /* gradients are pushed to a server */
          .strict_devices = loom_graph_strict_devices (t->graph) };
  g_autoptr (LoomPlan) plan = loom_plan_new (program, t->devices, &options, NULL);
  LoomPlanMemory memory;

  if (plan == NULL)
    return FALSE;
  loom_plan_memory (plan, 0, &memory);
  loom_plan_memory_join (all, &memory);
  return TRUE;
}

/* The same of a batch of so many samples: this rank's part of it. */
static gboolean
join_batch (LoomTrainer *t, gint64 batch, gboolean training, LoomPlanMemory *all)
{
  g_autoptr (LoomStep) step = loom_step_new (t->graph, t->spec, batch, training, NULL);
  const gboolean has_update = t->server == NULL || t->comm->rank == 0; /* of a parameter server it is rank 0's alone */

  return step != NULL && (t->server != NULL || trainer_divide_step (t, step, NULL))
         && join_program (t, step->program, all)
         && (step->update == NULL || !training || !has_update || join_program (t, step->update, all));
}

/* An epoch's last batch, which adds nothing where there is none, or where it is too short to be a step and is left out
 * (drop_last). */
static void
join_rest (LoomTrainer *t, gint64 batch, gboolean training, LoomPlanMemory *all)
{
  if (batch > 0)
    join_batch (t, batch, training, all);
}

/* Bytes of a run by owner: of training steps and of evaluations, each with a full batch and with an epoch's last one,
 * as far as they are shorter. FALSE where there is no such step. */
static gboolean
find_need (LoomTrainer *t, gint64 batch, gsize bytes[LOOM_N_OWNERS], gsize *sum)
{
  const LoomSplit split = t->dataset != NULL ? trainer_dataset_validation (t->dataset) : LOOM_N_SPLITS;
  const gint64 n = t->loader != NULL ? loom_loader_n_samples (t->loader) : batch;
  const gint64 seen = split != LOOM_N_SPLITS ? loom_dataset_count (t->dataset, split) : 0;
  LoomPlanMemory memory = { 0 };

  if (!join_batch (t, batch, TRUE, &memory) || (seen >= batch && !join_batch (t, batch, FALSE, &memory)))
    return FALSE;
  join_rest (t, n % batch, TRUE, &memory);
  join_rest (t, seen % batch, FALSE, &memory);
  loom_plan_memory_sum (&memory, bytes);
  *sum = 0;
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    *sum += bytes[o];
  /* The arena may be larger than what is alive at once. */
  *sum += memory.arena - MIN (memory.arena, memory.lower_bound);
  return TRUE;
}

/* The largest batch of a rank below this one that fits, where there are so many ranks; of sixteen and more a multiple
 * of eight, as nobody wants another. 0: none. */
static gint64
find_batch (LoomTrainer *t, gint64 batch, gint64 ranks, gsize room)
{
  gint64 fits = 0, too_large = batch;
  gsize bytes[LOOM_N_OWNERS], sum;

  while (too_large - fits > MAX (1, fits / 16))
    {
      gint64 middle = fits + (too_large - fits) / 2;

      if (find_need (t, middle * ranks, bytes, &sum) && sum <= room)
        fits = middle;
      else
        too_large = middle;
    }
  return fits >= 16 ? fits / 8 * 8 : fits;
}

static gsize
find_room (LoomTrainer *t)
{
  LoomPlanDevice *device = loom_devices_get (t->devices, t->device, NULL);
  LoomDeviceInfo now = { 0 };
  gsize held[LOOM_N_OWNERS], room;

  if (device == NULL)
    return 0;
  device->backend->device_info (device->device, &now);
  room = now.memory_free;
  loom_state_memory (t->state, held);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    room += held[o];
  return room;
}

void
trainer_explain_room (LoomTrainer *t, gint64 batch, GError **error)
{
  gsize bytes[LOOM_N_OWNERS], sum, room;
  g_autoptr (GString) words = NULL;
  /* A batch is divided among these; a rank that a server serves has its own. */
  const gint64 ranks = t->server != NULL ? 1 : MAX (1, t->ranks);
  gint64 fits;

  if (error == NULL || !g_error_matches (*error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    return;
  room = find_room (t);
  if (room == 0 || !find_need (t, batch, bytes, &sum) || sum <= room)
    return;
  words = g_string_new ((*error)->message);
  g_string_append (words, " It needs");
  for (int o = 0, n = 0; o < LOOM_N_OWNERS; o++)
    if (bytes[o] > 0)
      {
        g_autofree char *size = loom_bytes_to_string ((double)bytes[o]);

        g_string_append_printf (words, "%s %s for %s", n++ > 0 ? "," : "", size, loom_owner_name ((LoomOwner)o));
      }
  fits = find_batch (t, (batch + ranks - 1) / ranks, ranks, room);
  if (fits > 0 && t->comm != NULL)
    g_string_append_printf (words, ". On this rank, %d, a batch of %" G_GINT64_FORMAT " for each rank fits.",
                            t->comm->rank, fits);
  else if (fits > 0)
    g_string_append_printf (words, ". A batch of %" G_GINT64_FORMAT " fits.", fits);
  else
    g_string_append (words, ". Not even a batch of one sample fits.");
  g_free ((*error)->message);
  (*error)->message = g_string_free (g_steal_pointer (&words), FALSE);
}
