/* A bounded series of points with a pyramid of extrema; see the header. */
#include "engine/core/loom-series.h"

#include <math.h>

#define FANOUT    16
#define MAX_LEVEL 4 /* 16^4 points exceed LOOM_SERIES_MOST */

typedef struct
{
  double min, max; /* min > max: no finite points */
  double sum;
  double n; /* of finite points */
} Extent;

/* The newest of `stride` consecutive points, and the extent of all of them. */
typedef struct
{
  double x, y;
  Extent all;
} Point;

static const Extent nothing = { INFINITY, -INFINITY, 0, 0 };

struct _LoomSeries
{
  gatomicrefcount refs;
  GArray *points;
  guint most;               /* even */
  gsize stride;             /* points that were appended for one that is kept; a power of 2 */
  gsize fill;               /* of these, how many the last one has */
  GArray *level[MAX_LEVEL]; /* of Extent; an entry of level[k] covers FANOUT^(k+1) points; only complete entries */
  gsize last_cost;
};

LoomSeries *
loom_series_new (guint most)
{
  LoomSeries *s;

  g_return_val_if_fail (most >= 2 && most <= LOOM_SERIES_MOST, NULL);
  s = g_new0 (LoomSeries, 1);
  g_atomic_ref_count_init (&s->refs);
  s->points = g_array_new (FALSE, FALSE, sizeof (Point));
  s->most = most & ~1u;
  s->stride = 1;
  return s;
}

LoomSeries *
loom_series_ref (LoomSeries *s)
{
  g_return_val_if_fail (s != NULL, NULL);
  g_atomic_ref_count_inc (&s->refs);
  return s;
}

static void
drop_levels (LoomSeries *s)
{
  for (int k = 0; k < MAX_LEVEL; k++)
    g_clear_pointer (&s->level[k], g_array_unref);
}

void
loom_series_unref (LoomSeries *s)
{
  g_return_if_fail (s != NULL);
  if (!g_atomic_ref_count_dec (&s->refs))
    return;
  drop_levels (s);
  g_array_unref (s->points);
  g_free (s);
}

LoomSeries *
loom_series_copy (const LoomSeries *s)
{
  LoomSeries *copy = g_memdup2 (s, sizeof *s);

  g_atomic_ref_count_init (&copy->refs);
  copy->points = g_array_copy (s->points);
  for (int k = 0; k < MAX_LEVEL && s->level[k] != NULL; k++)
    copy->level[k] = g_array_copy (s->level[k]);
  return copy;
}

static void
extend (Extent *e, const Extent *by)
{
  e->min = MIN (e->min, by->min);
  e->max = MAX (e->max, by->max);
  e->sum += by->sum;
  e->n += by->n;
}

/* Builds the entries that the last append has completed, from the bottom up. */
static void
complete_levels (LoomSeries *s)
{
  gsize below = s->points->len;
  for (int k = 0; k < MAX_LEVEL && below % FANOUT == 0; k++)
    {
      Extent e = nothing;
      for (gsize i = below - FANOUT; i < below; i++)
        {
          extend (&e, k == 0 ? &g_array_index (s->points, Point, i).all : &g_array_index (s->level[k - 1], Extent, i));
        }
      if (s->level[k] == NULL)
        s->level[k] = g_array_new (FALSE, FALSE, sizeof (Extent));
      g_array_append_val (s->level[k], e);
      below = s->level[k]->len;
    }
}

/* Drops every point with at least this x. */
static void
truncate_at (LoomSeries *s, double x)
{
  g_return_if_fail (s != NULL);
  gsize n = s->points->len;
  while (n > 0 && g_array_index (s->points, Point, n - 1).x >= x)
    n--;
  g_array_set_size (s->points, n);
  s->fill = s->stride;
  for (int k = 0; k < MAX_LEVEL && s->level[k] != NULL; k++)
    {
      n /= FANOUT;
      g_array_set_size (s->level[k], MIN (n, s->level[k]->len));
    }
}

/* Merges neighbours, and rebuilds the pyramid of what remains. */
static void
halve (LoomSeries *s)
{
  Point *p = &g_array_index (s->points, Point, 0);
  const guint n = s->points->len / 2;

  drop_levels (s);
  for (guint i = 0; i < n; i++)
    {
      Extent all = p[2 * i].all;

      extend (&all, &p[2 * i + 1].all);
      p[i] = (Point){ p[2 * i + 1].x, p[2 * i + 1].y, all };
    }
  s->stride *= 2;
  for (guint i = 1; i <= n; i++)
    {
      g_array_set_size (s->points, i);
      complete_levels (s);
    }
}

void
loom_series_append (LoomSeries *s, double x, double y)
{
  g_return_if_fail (s != NULL && isfinite (x));
  if (s->points->len > 0 && x < g_array_index (s->points, Point, s->points->len - 1).x)
    truncate_at (s, x);
  if (s->points->len == 0 || s->fill == s->stride)
    {
      const Point p = { x, y, nothing };

      if (s->points->len == s->most)
        halve (s);
      g_array_append_val (s->points, p);
      s->fill = 0;
    }
  Point *last = &g_array_index (s->points, Point, s->points->len - 1);
  last->x = x;
  last->y = y;
  if (isfinite (y))
    extend (&last->all, &(Extent){ y, y, y, 1 });
  if (++s->fill == s->stride)
    complete_levels (s);
}

gsize
loom_series_length (const LoomSeries *s)
{
  return s->points->len;
}

void
loom_series_get (const LoomSeries *s, gsize i, double *x, double *y)
{
  g_return_if_fail (i < s->points->len);
  Point p = g_array_index (s->points, Point, i);
  if (x != NULL)
    *x = p.x;
  if (y != NULL)
    *y = p.y;
}

gsize
loom_series_lower_bound (const LoomSeries *s, double x)
{
  gsize low = 0, high = s->points->len;
  while (low < high)
    {
      gsize middle = low + (high - low) / 2;
      if (g_array_index (s->points, Point, middle).x < x)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

gboolean
loom_series_nearest (const LoomSeries *s, double x, gsize *index)
{
  gsize n = s->points->len;
  if (n == 0)
    return FALSE;
  gsize i = loom_series_lower_bound (s, x);
  if (i == n || (i > 0 && x - g_array_index (s->points, Point, i - 1).x < g_array_index (s->points, Point, i).x - x))
    i--;
  *index = i;
  return TRUE;
}

/* The largest block that begins at i, ends at or before `to`, and has an entry. */
static int
block_level (const LoomSeries *s, gsize i, gsize to)
{
  int level = -1;
  gsize size = FANOUT;
  for (int k = 0; k < MAX_LEVEL && s->level[k] != NULL; k++, size *= FANOUT)
    {
      if (i % size != 0 || i + size > to || i / size >= s->level[k]->len)
        break;
      level = k;
    }
  return level;
}

gboolean
loom_series_range (const LoomSeries *s, gsize from, gsize to, double *min, double *max, double *mean)
{
  Extent e = nothing;
  gsize cost = 0;
  to = MIN (to, s->points->len);
  for (gsize i = from; i < to; cost++)
    {
      int k = block_level (s, i, to);
      if (k < 0)
        extend (&e, &g_array_index (s->points, Point, i++).all);
      else
        {
          gsize size = FANOUT;
          for (int j = 0; j < k; j++)
            size *= FANOUT;
          extend (&e, &g_array_index (s->level[k], Extent, i / size));
          i += size;
        }
    }
  ((LoomSeries *)s)->last_cost = cost;
  if (e.min > e.max)
    return FALSE;
  *min = e.min;
  *max = e.max;
  if (mean != NULL)
    *mean = e.sum / e.n;
  return TRUE;
}

double
loom_series_mean (const LoomSeries *s, gsize i)
{
  double low, high, mean;

  return loom_series_range (s, i, i + 1, &low, &high, &mean) ? mean : NAN;
}

gsize
loom_series_last_cost (const LoomSeries *s)
{
  return s->last_cost;
}

gboolean
loom_series_last (const LoomSeries *s, double *x, double *y)
{
  for (gsize i = s->points->len; i > 0; i--)
    {
      double value;

      loom_series_get (s, i - 1, x, &value);
      if (!isfinite (value))
        continue;
      if (y != NULL)
        *y = value;
      return TRUE;
    }
  return FALSE;
}
