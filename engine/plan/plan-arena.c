/* Assigns each storage an offset in its device's arena so that no two that are alive together overlap.
 *
 * Storages are sorted in several orders: largest first, lifetime × size, order of birth. Each is put into the smallest
 * gap that is free during its life, as in XLA's heap simulator (see also Pisarchyk and Lee, "Efficient Memory
 * Management for Deep Neural Net Inference", 2020). The smallest arena is kept. If it exceeds the largest sum of bytes
 * alive at once, a local search changes the order. For plans with more than MANY storages, which would make this slow,
 * one linear sweep along the schedule comes first. */
#include "engine/plan/plan-private.h"

/* From this number of storages on, algorithms that compare all pairs are too slow. */
#define MANY 1500

static int
compare_size (gconstpointer a, gconstpointer b)
{
  const PlanStorage *x = *(PlanStorage *const *)a, *y = *(PlanStorage *const *)b;

  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : 0;
}

static int
compare_area (gconstpointer a, gconstpointer b)
{
  const PlanStorage *x = *(PlanStorage *const *)a, *y = *(PlanStorage *const *)b;
  double ax = (double)x->bytes * (x->last - x->first + 1), ay = (double)y->bytes * (y->last - y->first + 1);

  return ax != ay ? (ax < ay ? 1 : -1) : compare_size (a, b);
}

static int
compare_birth (gconstpointer a, gconstpointer b)
{
  const PlanStorage *x = *(PlanStorage *const *)a, *y = *(PlanStorage *const *)b;

  return x->first != y->first ? (x->first < y->first ? -1 : 1) : compare_size (a, b);
}

static int
compare_death (gconstpointer a, gconstpointer b)
{
  const PlanStorage *x = *(PlanStorage *const *)a, *y = *(PlanStorage *const *)b;

  return x->last != y->last ? (x->last < y->last ? -1 : 1) : compare_size (a, b);
}

gboolean
graph_in_arena (PlanGraph *g, const PlanStorage *s)
{
  if (s->slot >= 0 || s->once)
    return FALSE;
  return s->input < 0 || g_array_index (g->input_copied, gboolean, (guint)s->input);
}

/* Puts each of `blocks`, in this order, into the smallest gap that is free while it is alive. Returns the bytes
 * needed; G_MAXSIZE as soon as they are more than `most`. */
static gsize
fit (GPtrArray *blocks, gsize most)
{
  g_autoptr (GPtrArray) placed = g_ptr_array_new ();
  gsize top = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      PlanStorage *s = g_ptr_array_index (blocks, i);
      gsize best = G_MAXSIZE, best_gap = G_MAXSIZE, cursor = 0;
      guint at = 0;

      for (guint k = 0; k < placed->len; k++)
        {
          PlanStorage *o = g_ptr_array_index (placed, k);

          if (plan_spans_are_disjoint (&o->span, &s->span))
            continue;
          if (o->offset >= cursor + s->bytes && o->offset - cursor < best_gap)
            {
              best = cursor;
              best_gap = o->offset - cursor;
            }
          cursor = MAX (cursor, o->offset + o->bytes);
        }
      s->offset = best != G_MAXSIZE ? best : cursor;
      top = MAX (top, s->offset + s->bytes);
      if (top > most)
        return G_MAXSIZE;
      while (at < placed->len && ((PlanStorage *)g_ptr_array_index (placed, at))->offset <= s->offset)
        at++;
      g_ptr_array_insert (placed, (int)at, s);
    }
  return top;
}

typedef struct
{
  gsize offset, bytes;
} Hole;

/* Frees bytes. Holes are sorted by offset, and adjacent ones are merged; a hole at the end shrinks the used range
 * instead. Returns the new end. */
static gsize
release (GArray *holes, gsize end, Hole h)
{
  guint low = 0, high = holes->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (holes, Hole, middle).offset < h.offset)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < holes->len && h.offset + h.bytes == g_array_index (holes, Hole, low).offset)
    {
      h.bytes += g_array_index (holes, Hole, low).bytes;
      g_array_remove_index (holes, low);
    }
  if (low > 0 && g_array_index (holes, Hole, low - 1).offset + g_array_index (holes, Hole, low - 1).bytes == h.offset)
    {
      low--;
      h.offset = g_array_index (holes, Hole, low).offset;
      h.bytes += g_array_index (holes, Hole, low).bytes;
      g_array_remove_index (holes, low);
    }
  if (h.offset + h.bytes == end)
    return h.offset;
  g_array_insert_val (holes, low, h);
  return end;
}

/* Assigns the offsets in one sweep along the schedule, forwards or backwards, without comparing pairs: dead blocks
 * become holes, and each new block takes the smallest hole that fits. For plans of tens of thousands of values. */
static gsize
fit_in_time (GPtrArray *blocks, gboolean backwards)
{
  g_autoptr (GArray) holes = g_array_new (FALSE, FALSE, sizeof (Hole));
  g_autoptr (GPtrArray) leaving = g_ptr_array_copy (blocks, NULL, NULL);
  gsize top = 0, end = 0;
  guint next = 0;

  g_ptr_array_sort (blocks, backwards ? compare_death : compare_birth);
  g_ptr_array_sort (leaving, backwards ? compare_birth : compare_death);
  for (guint i = 0; i < blocks->len; i++)
    {
      PlanStorage *s = g_ptr_array_index (blocks, backwards ? blocks->len - 1 - i : i);
      guint best;

      for (; next < leaving->len; next++)
        {
          const PlanStorage *o = g_ptr_array_index (leaving, backwards ? leaving->len - 1 - next : next);

          if (backwards ? o->first <= s->last : o->last >= s->first)
            break;
          end = release (holes, end, (Hole){ o->offset, o->bytes });
        }
      best = holes->len;
      for (guint k = 0; k < holes->len; k++)
        if (g_array_index (holes, Hole, k).bytes >= s->bytes
            && (best == holes->len || g_array_index (holes, Hole, k).bytes < g_array_index (holes, Hole, best).bytes))
          best = k;
      if (best == holes->len)
        {
          s->offset = end;
          end += s->bytes;
          top = MAX (top, end);
          continue;
        }
      s->offset = g_array_index (holes, Hole, best).offset;
      g_array_index (holes, Hole, best).offset += s->bytes;
      g_array_index (holes, Hole, best).bytes -= s->bytes;
      if (g_array_index (holes, Hole, best).bytes == 0)
        g_array_remove_index (holes, best);
    }
  return top;
}

/* The largest sum of bytes alive at once: a lower bound for the arena if one lane does all the work. */
static gsize
most_alive (GPtrArray *blocks, int end)
{
  g_autofree gint64 *change = g_new0 (gint64, end + 3);
  gint64 now = 0, most = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      const PlanStorage *s = g_ptr_array_index (blocks, i);

      change[s->first + 1] += (gint64)s->bytes;
      change[s->last + 2] -= (gint64)s->bytes;
    }
  for (int i = 0; i < end + 3; i++)
    {
      now += change[i];
      most = MAX (most, now);
    }
  return (gsize)most;
}

typedef struct
{
  PlanGraph *g;
  GPtrArray *blocks;
  gsize least;
  gsize *kept; /* offset of each storage in the smallest arena so far */
} Fitting;

/* Saves the current offsets if their arena is the smallest so far. */
static gboolean
keep_if_better (Fitting *f, gsize top)
{
  if (top > f->least)
    return FALSE;
  f->least = top;
  for (guint i = 0; i < f->g->storages->len; i++)
    f->kept[i] = g_array_index (f->g->storages, PlanStorage, i).offset;
  return TRUE;
}

/* Assigns offsets in the current order of blocks; TRUE if their arena is the smallest so far. */
static gboolean
try_order (Fitting *f)
{
  return keep_if_better (f, fit (f->blocks, f->least));
}

/* If the simple orders need more than what is alive at once, moves blocks that reach the top earlier in the order and
 * keeps each change that is no worse. A fixed random sequence makes the result reproducible. */
static void
improve (Fitting *f, gsize goal)
{
  guint n = f->blocks->len, tries = n < 400 ? MIN (2000, 4000000 / (n * n + 1)) : 0;
  guint32 random = 12345;

  for (guint t = 0; t < tries && f->least > goal; t++)
    {
      guint from, to;
      gpointer moved;

      random = random * 1664525 + 1013904223;
      from = (random >> 8) % n;
      /* Every second trial moves one of the blocks at the top. */
      for (guint k = 0; t % 2 == 0 && k < n; k++)
        {
          const PlanStorage *s = g_ptr_array_index (f->blocks, (from + k) % n);

          if (f->kept[s - (PlanStorage *)(gpointer)f->g->storages->data] + s->bytes != f->least)
            continue;
          from = (from + k) % n;
          break;
        }
      random = random * 1664525 + 1013904223;
      to = (random >> 8) % (from + 1);
      moved = g_ptr_array_steal_index (f->blocks, from);
      g_ptr_array_insert (f->blocks, (int)to, moved);
      if (!try_order (f))
        {
          moved = g_ptr_array_steal_index (f->blocks, to);
          g_ptr_array_insert (f->blocks, (int)from, moved);
        }
    }
}

/* Sorting by size is nearly always best, otherwise by lifetime × size or by birth. A plan is made once, so all three
 * orders are tried and the smallest arena is kept. */
void
graph_assign_offsets (PlanGraph *g, int device)
{
  static int (*const orders[]) (gconstpointer, gconstpointer) = { compare_size, compare_area, compare_birth };
  g_autoptr (GPtrArray) blocks = g_ptr_array_new ();
  g_autofree gsize *kept = NULL;
  Fitting f = { g, blocks, G_MAXSIZE, NULL };
  guint best = 0;
  gsize goal;

  for (guint i = 0; i < g->storages->len; i++)
    {
      PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

      if (s->device == device && graph_in_arena (g, s) && s->bytes > 0 && s->block < 0)
        g_ptr_array_add (blocks, s);
    }
  f.kept = kept = g_new (gsize, g->storages->len + 1);
  goal = most_alive (blocks, (int)g->schedule->len);
  /* The search below is quadratic in the number of blocks; for a very large plan the linear result is taken unless it
   * is much too large. */
  if (blocks->len > MANY)
    for (int backwards = 0; backwards < 2; backwards++)
      keep_if_better (&f, fit_in_time (blocks, backwards));
  for (guint order = 0; order < G_N_ELEMENTS (orders) && (blocks->len <= MANY || f.least > goal + goal / 10); order++)
    {
      gsize before = f.least;

      g_ptr_array_sort (blocks, orders[order]);
      if (try_order (&f) && f.least < before)
        best = order;
    }
  if (f.least > goal && blocks->len <= MANY)
    {
      g_ptr_array_sort (blocks, orders[best]);
      improve (&f, goal);
    }
  for (guint i = 0; i < blocks->len; i++)
    {
      PlanStorage *s = g_ptr_array_index (blocks, i);

      s->offset = kept[s - (PlanStorage *)(gpointer)g->storages->data];
    }
}

gsize
graph_arena_bytes (PlanGraph *g, guint device)
{
  gsize bytes = 0;

  for (guint i = 0; i < g->storages->len; i++)
    {
      const PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

      if (s->device == (int)device && graph_in_arena (g, s))
        bytes = MAX (bytes, s->offset + s->bytes);
    }
  return bytes;
}
