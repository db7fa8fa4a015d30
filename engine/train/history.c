/* Chooses the states of a run that are kept; see the header. */
#include "engine/train/history.h"

#include "engine/core/loom-os.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST      2000  /* of small nets, whose folders would be many */
#define FOR_GAPS  0.985 /* of the budget; the rest is for the latest steps, and for states that turn out larger */
#define RECENT    32    /* states by which the size of the next ones is estimated */
#define FIRST     8     /* states, until the size of the next ones can be estimated */
#define PACKED    0.65  /* of the first states, which are packed alone: others, until their size is known */
#define WIDE      1.05  /* of even gaps: a wider one among the first keeps its extra state */
#define EARLY     0.07  /* of a gap: by so much the first ones are narrower, if states may become smaller */
#define GROWTH    1.01  /* of the latest states: from there on they become larger */
#define TOLERANCE 1.15  /* of even gaps, with which a run that was given more epochs continues */

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

gboolean
history_has (const History *self, gint64 step)
{
  const guint at = place_of (self, step);

  return at < self->state->len && nth (self, at)->step == step;
}

/* ---- the next state ------------------------------------------------------ */

/* Of the latest states, because sizes change during a run. The first ones are packed alone more often than later ones,
 * and such do not count until there are many. */
static double
mean_bytes (const History *self)
{
  const guint len = self->state->len;
  double bytes[2] = { 0 }, n[2] = { 0 };

  for (guint i = len - MIN (len, RECENT); i < len; i++)
    {
      const gboolean counts = len >= RECENT || nth (self, i)->base >= 0;

      bytes[counts] += (double)nth (self, i)->bytes;
      n[counts]++;
    }
  return MAX (1, n[1] > 0 ? bytes[1] / n[1] : n[0] > 0 ? bytes[0] / n[0] : 1);
}

/* Of the next states. */
static double
next_bytes (const History *self)
{
  gboolean is_known = !self->has_extras;

  for (guint i = 0; i < self->state->len && !is_known; i++)
    is_known = nth (self, i)->base >= 0;
  return (is_known ? 1 : PACKED) * mean_bytes (self);
}

gint64
history_fits (const History *self)
{
  return MIN (MOST, (gint64)((double)self->budget / mean_bytes (self)));
}

/* The newest state that is not extra; -1: none. */
static gint64
newest_lasting (const History *self)
{
  for (guint i = self->state->len; i-- > 0;)
    if (!nth (self, i)->is_extra)
      return nth (self, i)->step;
  return -1;
}

static gint64
steps_for_each (gint64 steps, double states)
{
  return MAX (1, (gint64)ceil ((double)steps / MAX (1, states)));
}

/* If they are all equal. Of states that stay when others are removed, more are packed alone. */
static gint64
even_gap (const History *self)
{
  const double mean = MAX (mean_bytes (self), self->state->len > 0 ? (double)self->bytes / self->state->len : 1);

  return steps_for_each (self->total, FOR_GAPS * MIN (MOST, (double)self->budget / mean));
}

/* Packed states, of which some are extra, become smaller during a run, as units die and the rate falls, unless the
 * latest ones are larger than those before. */
static gboolean
may_shrink (const History *self)
{
  double bytes[2] = { 0 };
  guint n = 0;

  for (guint i = self->state->len; i-- > 0 && n < RECENT;)
    if (nth (self, i)->base >= 0)
      bytes[n++ / (RECENT / 2)] += (double)nth (self, i)->bytes;
  return (n > 0 || self->has_extras) && (n < RECENT || bytes[0] <= GROWTH * bytes[1]);
}

/* The steps from the newest state that is not extra to the next one. If all states counted as the latest ones, and
 * later ones are smaller, the first gaps would be the widest. */
static gint64
next_gap (const History *self)
{
  const gint64 even = even_gap (self), newest = MAX (0, newest_lasting (self)), more = self->total - newest;
  const double space = FOR_GAPS * (double)self->budget - (double)(self->bytes - self->extra_bytes);
  const double states = MIN (MOST - (double)self->state->len, space / next_bytes (self));
  const double narrower = may_shrink (self) ? 1 - EARLY * (double)more / (double)MAX (1, self->total) : 1;
  const gint64 left = steps_for_each (more, states / narrower);

  /* Too few are left: others are removed, and all become less dense. */
  return newest < self->total && (double)left <= TOLERANCE * (double)even ? left : even;
}

static int
compare_costs (gconstpointer a, gconstpointer b)
{
  const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

  return x < y ? -1 : x > y;
}

/* TRUE if writing `states` takes at most one in `part` of the time since then. The first state of a run is
 * synchronised, and costs more than the second: of an even number of costs, the lower one in the middle counts. */
static gboolean
has_time (const History *self, gint64 part, gint64 since, gint64 states)
{
  const guint n = MIN (self->n_written, HISTORY_COSTS);
  gint64 cost[HISTORY_COSTS];

  if (n == 0)
    return TRUE;
  memcpy (cost, self->cost, sizeof cost);
  qsort (cost, n, sizeof *cost, compare_costs);
  return loom_monotonic () - since >= part * states * cost[(n - 1) / 2];
}

/* One in the middle of a gap that replaces none but extra ones. `steps` after the newest one, which is not extra. */
static gboolean
wants_extra (const History *self, gint64 steps)
{
  const gint64 gap = next_gap (self);
  const double lasting = (double)(self->bytes - self->extra_bytes);

  /* Extra ones leave time for the others. */
  return self->has_extras && 2 * steps >= gap && 4 * steps <= 3 * gap
         && lasting + 2 * mean_bytes (self) <= (double)self->budget && has_time (self, 2 * self->part, self->last, 1);
}

gboolean
history_wants (const History *self, gint64 step, gboolean *is_extra)
{
  gint64 newest, before;
  gboolean lasts;

  if (is_extra != NULL)
    *is_extra = FALSE;
  if (self->budget == 0 || self->state == NULL)
    return FALSE;
  if (self->state->len == 0)
    return TRUE;
  newest = nth (self, self->state->len - 1)->step;
  if (step <= newest)
    return FALSE;
  before = newest_lasting (self);
  lasts = step - before >= next_gap (self);
  if (is_extra != NULL)
    *is_extra = !lasts;
  /* An extra one that was written meanwhile does not delay it. */
  return lasts ? has_time (self, self->part, self->last_lasting, before == newest ? 1 : 2)
               : before == newest && wants_extra (self, step - before);
}

/* ---- space --------------------------------------------------------------- */

static gboolean
fits (const History *self, gint64 bytes)
{
  return bytes <= self->budget - self->bytes && self->state->len < MOST;
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
  gint64 bytes = self->state->len > 0 ? nth (self, 0)->bytes : 0;

  while (base >= 0 && history_has (self, base))
    {
      const guint at = place_of (self, base);

      bytes += at > 0 ? nth (self, at)->bytes : 0;
      base = nth (self, at)->base;
    }
  return bytes;
}

/* Until sizes are known, gaps may be wide; an extra state in one becomes one of the others. */
static void
promote_extras (History *self)
{
  const double most = WIDE * (double)even_gap (self);

  for (guint i = 1; i + 1 < MIN (FIRST, self->state->len); i++)
    {
      HistoryState *one = &g_array_index (self->state, HistoryState, i);

      if (!one->is_extra || (double)(nth (self, i + 1)->step - nth (self, i - 1)->step) <= most)
        continue;
      one->is_extra = FALSE;
      self->extra_bytes -= one->bytes;
    }
}

/* The oldest extra state; -1: none can be removed. */
static gint64
oldest_extra (const History *self, const gboolean *is_base)
{
  for (guint i = 1; i < self->state->len; i++)
    if (nth (self, i)->is_extra && !is_base[i])
      return nth (self, i)->step;
  return -1;
}

/* The step of the state to remove; -1: none can be. The first one is where steps before the second are computed from,
 * and goes last; before it the newest. */
static gint64
superfluous (const History *self, gint64 base)
{
  const guint n = self->state->len;
  const double most = TOLERANCE * (double)even_gap (self);
  g_autofree gboolean *is_base = find_bases (self, base);
  const gint64 extra = oldest_extra (self, is_base);
  double least[2] = { INFINITY, INFINITY };
  gint64 found[2] = { -1, -1 };

  if (extra >= 0)
    return extra;
  for (guint i = 1; i + 1 < n; i++)
    {
      const double gap = (double)(nth (self, i + 1)->step - nth (self, i - 1)->step);
      const double age = (double)(nth (self, n - 1)->step - nth (self, i)->step);
      /* Those whose removal leaves no more than the gap of others are preferred, then those that leave the least. */
      const guint wide = gap > most;
      const double weight = wide ? gap : gap / sqrt (age);

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
  self->extra_bytes -= nth (self, at)->is_extra ? nth (self, at)->bytes : 0;
  g_array_remove_index (self->state, at);
}

gboolean
history_make_space (History *self, gint64 bytes, gint64 base, HistoryRemove remove, gpointer data)
{
  gint64 gone;

  if (bytes > 0 && bytes > self->budget - bytes_of_lasting (self, base))
    return FALSE;
  promote_extras (self);
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
  self->extra_bytes += state->is_extra ? state->bytes : 0;
  self->last = end;
  self->last_lasting = state->is_extra ? self->last_lasting : end;
  if (end > begin)
    self->cost[self->n_written++ % HISTORY_COSTS] = end - begin;
}
