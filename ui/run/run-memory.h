/* The memory of a run on one device: planned bytes by owner, and the figures of the device's driver. */
#pragma once

#include "ui/charts/studio-driver-memory.h"

typedef struct
{
  char *device;
  GPtrArray *owners;         /* static names, in display order */
  GArray *bytes;             /* guint64, of each owner */
  StudioDriverMemory driver; /* total 0: unknown, or the device shares the host's memory */
} RunMemory;

void run_memory_init (RunMemory *memory);
void run_memory_finish (RunMemory *memory);
void run_memory_forget (RunMemory *memory);
/* bytes: a{st}, what the worker's signal Memory reports. */
void run_memory_set (RunMemory *memory, const char *device, GVariant *bytes);
/* A killed worker reports no final memory: the newest report is used. TRUE if memory has changed. */
gboolean run_memory_close (RunMemory *memory);
/* NULL: unknown, or the device shares the host's memory. */
const StudioDriverMemory *run_memory_get_driver (const RunMemory *memory);
