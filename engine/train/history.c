/* Chooses the states of a run that are kept; see the header. */
#include "engine/train/history.h"

#include <math.h>

#define PART      40   /* of the time may be spent on writing, by each of the disk and memory: one in 40 */
#define MOST      2000 /* of small nets, whose folders would be many */
#define FOR_SLOTS 0.9  /* of the budget; the rest is for the latest steps */
#define TOLERANCE 1.25 /* of a slot, because its size follows that of the states */

void
history_init (History *self)
{
  self->state = g_array_new (FALSE, FALSE, sizeof (HistoryState));
}

void
history_clear (History *self)
{
  g_clear_pointer (&self->state, g_array_unref);
}

static const HistoryState *
nth (const History *self, guint i)
{
  return &g_array_index (self->state, HistoryState, i);
}

/* The number of states within the budget, if they are of the mean size. */
static double
count_fitting (const History *self)
{
  const double mean = self->state != NULL && self->state->len > 0 ? (double)self->bytes / self->state->len : 1;

  return MIN (MOST, (double)self->budget / MAX (mean, 1));
}

gint64
history_slot (const History *self)
{
  return MAX (1, (gint64)ceil ((double)self->total / MAX (1, floor (FOR_SLOTS * count_fitting (self)))));
}

gboolean
history_wants (const History *self, gint64 step)
{
  gint64 piece, newest;

  if (self->budget == 0 || self->state == NULL)
    return FALSE;
  if (self->state->len == 0)
    return TRUE;
  piece = MAX (1, history_slot (self) / MAX (1, self->pieces));
  newest = nth (self, self->state->len - 1)->step;
  return step > newest && step / piece != newest / piece && g_get_monotonic_time () - self->last >= PART * self->cost;
}

static gboolean
fits (const History *self, gint64 bytes)
{
  return bytes <= self->budget - self->bytes && self->state->len < MOST;
}

static guint
place_of (const History *self, gint64 step)
{
  guint at = 0, end = self->state->len;

  while (at < end)
    {
      const guint middle = (at + end) / 2;

      if (nth (self, middle)->step < step)
        at = middle + 1;
      else
        end = middle;
    }
  return at;
}

/* By state: TRUE if another one is packed against it. */
static gboolean *
find_bases (const History *self, gint64 base)
{
  gboolean *is_base = g_new0 (gboolean, self->state->len + 1);

  is_base[base >= 0 ? place_of (self, base) : self->state->len] = TRUE;
  for (guint i = 0; i < self->state->len; i++)
    if (nth (self, i)->base >= 0)
      is_base[place_of (self, nth (self, i)->base)] = TRUE;
  return is_base;
}

/* The bytes of the states that no new one replaces. */
static gint64
bytes_of_lasting (const History *self, gint64 base)
{
  const guint at = place_of (self, base);
  gint64 bytes = self->state->len > 0 ? nth (self, 0)->bytes : 0;

  if (base >= 0 && at > 0 && at < self->state->len)
    bytes += nth (self, at)->bytes;
  return bytes;
}

/* The step of the state to remove; -1: none can be. The first one is where steps before the second are computed from,
 * and goes last; before it the newest. */
static gint64
superfluous (const History *self, gint64 base)
{
  const guint n = self->state->len;
  const double slot = TOLERANCE * (double)history_slot (self);
  g_autofree gboolean *is_base = find_bases (self, base);
  double least[2] = { INFINITY, INFINITY };
  gint64 found[2] = { -1, -1 };

  for (guint i = 1; i + 1 < n; i++)
    {
      const double gap = (double)(nth (self, i + 1)->step - nth (self, i - 1)->step);
      const double age = (double)(nth (self, n - 1)->step - nth (self, i)->step), weight = gap / sqrt (age);
      /* Those whose removal leaves no more than a slot are preferred. */
      const guint wide = gap > slot;

      if (is_base[i] || weight >= least[wide])
        continue;
      least[wide] = weight;
      found[wide] = nth (self, i)->step;
    }
  if (found[0] >= 0 || found[1] >= 0)
    return found[0] >= 0 ? found[0] : found[1];
  for (guint i = n; i-- > 0;)
    if (!is_base[i])
      return nth (self, i)->step;
  return -1;
}

static void
note_removed (History *self, gint64 step)
{
  const guint at = place_of (self, step);

  if (at == self->state->len || nth (self, at)->step != step)
    return;
  self->bytes -= nth (self, at)->bytes;
  g_array_remove_index (self->state, at);
}

gboolean
history_make_space (History *self, gint64 bytes, gint64 base, HistoryRemove remove, gpointer data)
{
  gint64 gone;

  if (bytes > 0 && bytes > self->budget - bytes_of_lasting (self, base))
    return FALSE;
  while (!fits (self, bytes) && (gone = superfluous (self, base)) >= 0)
    {
      remove (gone, data);
      note_removed (self, gone);
    }
  return fits (self, bytes);
}

void
history_note_written (History *self, const HistoryState *state, gint64 begin, gint64 end)
{
  note_removed (self, state->step);
  g_array_insert_val (self->state, place_of (self, state->step), *state);
  self->bytes += state->bytes;
  self->cost = end - begin;
  self->last = end;
}
