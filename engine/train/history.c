/* Which checkpoints of a run's history are written and kept; see the header. */
#include "engine/train/history.h"

#include <math.h>

#define PART 20   /* of the time may be spent on writing: one in 20 */
#define MOST 2000 /* of small nets, whose folders would be many */

void
history_clear (History *self)
{
  g_clear_pointer (&self->steps, g_array_unref);
}

void
history_note_time (History *self, gint64 now)
{
  if (self->budget > 0 && self->steps != NULL && now - self->last >= PART * self->cost)
    self->is_due = TRUE;
}

static guint
place_of (const History *self, gint64 step)
{
  guint at = 0;

  while (at < self->steps->len && g_array_index (self->steps, gint64, at) < step)
    at++;
  return at;
}

void
history_note_written (History *self, gint64 step, gint64 bytes, gint64 begin, gint64 end)
{
  const guint at = place_of (self, step);

  if (at == self->steps->len || g_array_index (self->steps, gint64, at) != step)
    g_array_insert_val (self->steps, at, step);
  self->bytes = MAX (self->bytes, bytes);
  self->is_due = FALSE;
  self->cost = end - begin;
  self->last = end;
}

gint64
history_superfluous (const History *self)
{
  const guint n = self->steps->len;
  const gint64 fits = MIN (MOST, self->budget / MAX (self->bytes, 1));
  double least = INFINITY;
  gint64 found = n > 0 && fits < 1 ? g_array_index (self->steps, gint64, n - 1) : -1;

  if ((gint64)n <= fits)
    return -1;
  /* The first one is where steps before the second are computed from, the last one is the newest. */
  for (guint i = 1; i + 1 < n; i++)
    {
      const gint64 *step = &g_array_index (self->steps, gint64, i);
      const double gap = (double)(step[1] - step[-1]);
      const double age = (double)(g_array_index (self->steps, gint64, n - 1) - step[0]);

      if (gap / sqrt (age) >= least)
        continue;
      least = gap / sqrt (age);
      found = step[0];
    }
  return found >= 0 ? found : g_array_index (self->steps, gint64, 0);
}

void
history_note_removed (History *self, gint64 step)
{
  const guint at = place_of (self, step);

  if (at < self->steps->len && g_array_index (self->steps, gint64, at) == step)
    g_array_remove_index (self->steps, at);
}
