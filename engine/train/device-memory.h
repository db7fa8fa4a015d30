/* The memory of a device that its driver reports as in use, by all processes: other users of the card, workspaces of
 * libraries and the driver itself count, too.
 *
 * The driver knows what is in use now and no peak. A run takes memory when its plans are made and in no step, so the
 * driver is queried before anything of the run is there, after every plan, and once a second: libraries take their
 * workspaces when they like. A query waits for nothing that is computed and may be made on any thread (cudaMemGetInfo);
 * here it is the run's, between two steps. */
#pragma once

#include "engine/train/loom-train-events.h"
#include "engine/train/train-model.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  LoomTrainerDeviceMemory now; /* total 0: the device has no memory of its own */
} DeviceMemory;

/* The device is open, and nothing of the run is there yet. */
void device_memory_init (DeviceMemory *self, const TrainModel *model);
void device_memory_query (DeviceMemory *self);
void device_memory_begin_run (DeviceMemory *self);
/* A step is over. The driver is queried after the first one, and at most once a second. */
void device_memory_step (DeviceMemory *self, gint64 now);
void device_memory_end_run (DeviceMemory *self);

G_END_DECLS
