/* What a device's driver says is in use, beside what the plans say: for devices with memory of their own, where whoever
 * else uses the card, a library's workspace and the driver itself count, too. */
#include "app/worker/worker.h"

/* FALSE on a device that shares the host's memory. */
static gboolean
ask (LoomTrainer *trainer, WorkerMemory *memory)
{
  return loom_trainer_device_memory (trainer, &memory->used, &memory->total);
}

void
worker_memory_begin (WorkerMemory *memory, LoomTrainer *trainer)
{
  *memory = (WorkerMemory){ 0 };
  if (ask (trainer, memory))
    memory->before = memory->used;
}

gboolean
worker_memory_step (WorkerMemory *memory, LoomTrainer *trainer)
{
  if (memory->total == 0 || memory->first != 0 || !ask (trainer, memory))
    return FALSE;
  memory->first = memory->used;
  return TRUE;
}

gboolean
worker_memory_end (WorkerMemory *memory, LoomTrainer *trainer)
{
  if (memory->total == 0 || !ask (trainer, memory))
    return FALSE;
  memory->last = memory->used;
  return TRUE;
}
