/* Chooses the states of a run that are kept; see the header. */
#include "engine/train/history.h"

#include <math.h>

#define PART      20   /* of the time may be spent on writing: one in 20 */
#define MOST      2000 /* of small nets, whose folders would be many */
#define FOR_SLOTS 0.9  /* of the budget; the rest is for the latest steps */

void
history_clear (History *self)
{
  g_clear_pointer (&self->steps, g_array_unref);
}

/* The number of states within the budget. */
static gint64
count_fitting (const History *self)
{
  return MIN (MOST, self->budget / MAX (self->bytes, 1));
}

gint64
history_slot (const History *self)
{
  const double slots = MAX (1, floor (FOR_SLOTS * (double)count_fitting (self)));

  return self->slot > 0 ? self->slot : MAX (1, (gint64)ceil ((double)self->total / slots));
}

gboolean
history_wants (const History *self, gint64 step)
{
  const gint64 slot = history_slot (self);
  gint64 newest;

  if (self->budget == 0 || self->steps == NULL)
    return FALSE;
  if (self->steps->len == 0)
    return TRUE;
  newest = g_array_index (self->steps, gint64, self->steps->len - 1);
  return step > newest && (step / slot != newest / slot || step - newest >= MAX (1, slot / 2))
         && g_get_monotonic_time () - self->last >= PART * self->cost;
}

static guint
place_of (const History *self, gint64 step)
{
  guint at = 0, end = self->steps->len;

  while (at < end)
    {
      const guint middle = (at + end) / 2;

      if (g_array_index (self->steps, gint64, middle) < step)
        at = middle + 1;
      else
        end = middle;
    }
  return at;
}

void
history_note_written (History *self, gint64 step, gint64 bytes, gint64 begin, gint64 end)
{
  const guint at = place_of (self, step);

  if (at == self->steps->len || g_array_index (self->steps, gint64, at) != step)
    g_array_insert_val (self->steps, at, step);
  self->bytes = MAX (self->bytes, bytes);
  self->cost = end - begin;
  self->last = end;
}

/* The one whose neighbours are closest to each other for its age. The first one is where steps before the second are
 * computed from, the last one is the newest. -1: there is none. */
static gint64
closest (const History *self, gboolean of_slots)
{
  const guint n = self->steps->len;
  const gint64 slot = history_slot (self);
  double least = INFINITY;
  gint64 found = -1;

  for (guint i = 1; i + 1 < n; i++)
    {
      const gint64 *step = &g_array_index (self->steps, gint64, i);
      const double gap = (double)(step[1] - step[-1]);
      const double age = (double)(g_array_index (self->steps, gint64, n - 1) - step[0]);

      if ((!of_slots && step[0] / slot != step[-1] / slot) || gap / sqrt (age) >= least)
        continue;
      least = gap / sqrt (age);
      found = step[0];
    }
  return found;
}

gint64
history_superfluous (const History *self)
{
  const guint n = self->steps->len;
  const gint64 fits = count_fitting (self);
  gint64 found;

  if ((gint64)n <= fits)
    return -1;
  if (fits < 1)
    return g_array_index (self->steps, gint64, n - 1);
  found = closest (self, FALSE);
  if (found < 0)
    found = closest (self, TRUE);
  return found >= 0 ? found : g_array_index (self->steps, gint64, 0);
}

void
history_note_removed (History *self, gint64 step)
{
  const guint at = place_of (self, step);

  if (at < self->steps->len && g_array_index (self->steps, gint64, at) == step)
    g_array_remove_index (self->steps, at);
}
