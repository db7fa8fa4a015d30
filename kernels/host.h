/* Helpers for devices that are the processor: memory that plain C reads and writes, and facts about the machine. */
#pragma once

#include "kernels/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value after ": " of the first line of a /proc file that starts with name. */
static inline bool
loom_host_entry (const char *path, const char *name, char *value, size_t size)
{
  FILE *file = fopen (path, "r");
  char line[512];
  bool found = false;

  if (file == NULL)
    return false;
  while (!found && fgets (line, sizeof line, file) != NULL)
    {
      char *colon = strchr (line, ':');

      if (colon == NULL || strncmp (line, name, strlen (name)) != 0)
        continue;
      colon += strspn (colon, ": \t");
      colon[strcspn (colon, "\n")] = '\0';
      snprintf (value, size, "%s", colon);
      found = true;
    }
  fclose (file);
  return found;
}

/* Fills in the facts that all devices of the processor share; names and threads are left to the back end. */
static inline void
loom_host_info (LoomDeviceInfo *info)
{
  char text[64];

  memset (info, 0, sizeof *info);
  if (loom_host_entry ("/proc/meminfo", "MemTotal", text, sizeof text))
    info->memory_total = (uint64_t)atoll (text) * 1024;
  if (loom_host_entry ("/proc/meminfo", "MemAvailable", text, sizeof text))
    info->memory_free = (uint64_t)atoll (text) * 1024;
  info->host_memory = true;
}

/* Aligned to cache lines, and never empty, so that there is an address. */
static inline LoomStatus
loom_host_alloc (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  if (bytes > SIZE_MAX - 128 || (*memory = aligned_alloc (64, (bytes + 127) & ~(size_t)63)) == NULL)
    {
      snprintf (message->text, sizeof message->text, "the machine is out of memory");
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  return LOOM_STATUS_OK;
}

static inline void
loom_host_free (LoomDevice *device, void *memory)
{
  free (memory);
}

static inline LoomStatus
loom_host_copy_bytes (LoomDevice *device, LoomStream *stream, void *to, const void *from, size_t bytes,
                      LoomCopyKind kind, LoomMessage *message)
{
  if (bytes > 0)
    memmove (to, from, bytes);
  return LOOM_STATUS_OK;
}
