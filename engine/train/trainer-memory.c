/* What a run holds: bytes by owner, as plans say, and what the driver of a device with memory of its own says is in
 * use, by whomever: there whoever else uses the card, a library's workspace and the driver itself count, too.
 *
 * The driver knows what is in use now and nothing of a peak. A run takes memory when its plans are made and in no step,
 * so it is asked before anything of the run is there, behind every plan, and once a second: libraries take their
 * workspaces when they like, and others use the card. Asking waits for nothing that is computed and may be done on any
 * thread (cudaMemGetInfo); here it is the run's, between two steps. */
#include "engine/train/trainer-private.h"

#define PERIOD G_USEC_PER_SEC

void
trainer_memory_ask (LoomTrainer *t)
{
  LoomTrainerDeviceMemory *m = &t->device_memory;
  const LoomPlanDevice *device = loom_devices_get (t->devices, t->device, NULL);
  LoomDeviceInfo now = { 0 };

  if (device == NULL || device->info.host_memory)
    return;
  device->backend->device_info (device->device, &now);
  m->total = now.memory_total;
  m->used = now.memory_total - now.memory_free;
  m->peak = MAX (m->peak, m->used);
  m->asked = g_get_monotonic_time ();
}

void
trainer_memory_begin (LoomTrainer *t)
{
  trainer_memory_ask (t);
  t->device_memory.before = t->device_memory.used;
}

void
trainer_memory_begin_run (LoomTrainer *t)
{
  t->device_memory.first = t->device_memory.last = 0;
}

void
trainer_memory_step (LoomTrainer *t, gint64 now)
{
  LoomTrainerDeviceMemory *m = &t->device_memory;

  if (m->total == 0 || (m->first != 0 && now - m->asked < PERIOD))
    return;
  trainer_memory_ask (t);
  if (m->first == 0)
    m->first = m->peak;
}

void
trainer_memory_end_run (LoomTrainer *t)
{
  trainer_memory_ask (t);
  t->device_memory.last = t->device_memory.peak;
}

void
loom_trainer_memory (const LoomTrainer *t, gsize bytes[LOOM_N_OWNERS])
{
  loom_state_memory (t->state, NULL, bytes);
  trainer_seen_memory (t, bytes);
}

gboolean
loom_trainer_device_memory (const LoomTrainer *t, LoomTrainerDeviceMemory *memory)
{
  *memory = t->device_memory;
  return memory->total > 0;
}
