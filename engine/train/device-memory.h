/* The memory of a device that its driver reports as in use, by all processes: other users of the card, workspaces of
 * libraries and the driver itself count, too.
 *
 * The driver reports only the current use, not a peak. A run allocates memory when plans are made and not in a step, so
 * the driver is queried before the run allocates any, after every plan, and once a second, because libraries may
 * allocate workspaces at any time. A query (cudaMemGetInfo) does not wait for computation and may be made on any
 * thread; here it is made on the run's thread, between two steps. */
#pragma once

#include "engine/train/loom-train-events.h"
#include "engine/train/train-model.h"

typedef struct
{
  const TrainModel *model;
  LoomTrainerDeviceMemory now; /* total 0: the device has no memory of its own */
} DeviceMemory;

/* Call after opening the device, before the run allocates memory. */
void device_memory_init (DeviceMemory *self, const TrainModel *model);
void device_memory_query (DeviceMemory *self);
void device_memory_begin_run (DeviceMemory *self);
/* Call after a step. Queries the driver after the first one, and at most once a second. */
void device_memory_step (DeviceMemory *self, gint64 now);
void device_memory_end_run (DeviceMemory *self);
