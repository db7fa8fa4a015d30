/* What a run needs that does not fit into its device, and the batch with which it would.
 *
 * Plans say what they need without taking it, so batches are tried by planning alone. */
#include "engine/core/loom-bytes.h"
#include "engine/train/trainer-private.h"

/* Bytes of a training step by owner, on the run's own device. FALSE where there is no such step. */
static gboolean
find_need (LoomTrainer *t, gint64 batch, gsize bytes[LOOM_N_OWNERS], gsize *sum)
{
  LoomPlanOptions options = { .device = t->device, .strict_devices = loom_graph_strict_devices (t->graph) };
  g_autoptr (LoomStep) step = loom_step_new (t->graph, t->spec, batch, TRUE, NULL);
  g_autoptr (LoomPlan) plan = step != NULL ? loom_plan_new (step->program, t->devices, &options, NULL) : NULL;
  LoomPlanMemory memory;

  if (plan == NULL)
    return FALSE;
  loom_plan_memory (plan, 0, &memory);
  loom_plan_memory_sum (&memory, bytes);
  *sum = 0;
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    *sum += bytes[o];
  /* The arena may be larger than what is alive at once. */
  *sum += memory.arena - MIN (memory.arena, memory.lower_bound);
  return TRUE;
}

/* The largest batch below this one that fits; of sixteen and more a multiple of eight, as nobody wants another. 0:
 * none. */
static gint64
find_batch (LoomTrainer *t, gint64 batch, gsize room)
{
  gint64 fits = 0, too_large = batch;
  gsize bytes[LOOM_N_OWNERS], sum;

  while (too_large - fits > MAX (1, fits / 16))
    {
      gint64 middle = fits + (too_large - fits) / 2;

      if (find_need (t, middle, bytes, &sum) && sum <= room)
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
  gint64 fits;

  if (error == NULL || !g_error_matches (*error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY) || t->comm != NULL)
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
  fits = find_batch (t, batch, room);
  if (fits > 0)
    g_string_append_printf (words, ". A batch of %" G_GINT64_FORMAT " fits.", fits);
  else
    g_string_append (words, ". Not even a batch of one sample fits.");
  g_free ((*error)->message);
  (*error)->message = g_string_free (g_steal_pointer (&words), FALSE);
}
