/* The memory of a device as its driver reports it, including that of other processes. */
#pragma once

#include <glib.h>

/* Bytes: in use at the last query, total, maximum in use so far, in use before the run, and the maximum until the end
 * of the first and of the last step (0: not reached). */
typedef struct
{
  guint64 used, total, peak, before, first, last;
} StudioDriverMemory;
