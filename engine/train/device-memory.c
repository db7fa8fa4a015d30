/* The memory of a device that its driver reports as in use. */
#include "engine/train/device-memory.h"

#include "engine/core/loom-os.h"

#define PERIOD G_USEC_PER_SEC

void
device_memory_query (DeviceMemory *self)
{
  LoomTrainerDeviceMemory *m = &self->now;
  const LoomPlanDevice *device = loom_devices_get (self->model->devices, self->model->device, NULL);
  LoomDeviceInfo info = { 0 };

  if (device == NULL || device->info.host_memory)
    return;
  device->backend->device_info (device->device, &info);
  m->total = info.memory_total;
  m->used = info.memory_total - info.memory_free;
  m->peak = MAX (m->peak, m->used);
  m->asked = loom_monotonic ();
}

void
device_memory_init (DeviceMemory *self, const TrainModel *model)
{
  *self = (DeviceMemory){ .model = model };
  device_memory_query (self);
  self->now.before = self->now.used;
}

void
device_memory_begin_run (DeviceMemory *self)
{
  self->now.first = self->now.last = 0;
}

void
device_memory_step (DeviceMemory *self, gint64 now)
{
  LoomTrainerDeviceMemory *m = &self->now;

  if (m->total == 0 || (m->first != 0 && now - m->asked < PERIOD))
    return;
  device_memory_query (self);
  if (m->first == 0)
    m->first = m->peak;
}

void
device_memory_end_run (DeviceMemory *self)
{
  device_memory_query (self);
  self->now.last = self->now.peak;
}
