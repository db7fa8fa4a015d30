/* Limits how often something is done: lines of progress, writes of a file, requests. */
#pragma once

#include <glib.h>

typedef struct
{
  gint64 interval, last; /* µs of one clock; last 0: not yet */
} LoomRate;

/* TRUE if the interval since the last time has passed, which is then now. */
static inline gboolean
loom_rate_is_due (LoomRate *self, gint64 now)
{
  if (self->last != 0 && now - self->last < self->interval)
    return FALSE;
  self->last = now;
  return TRUE;
}
