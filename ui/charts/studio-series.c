/* Plain arrays without widgets, so that the model of a run can hold them and tests need no display. */
#include "ui/charts/studio-series.h"

#include <math.h>

#define FANOUT    16
#define MAX_LEVEL 12 /* 16^12 points exceed any memory */

typedef struct
{
  double x, y;
} Point;

typedef struct
{
  double min, max; /* min > max: no finite points */
  double sum;
  double n; /* of finite points */
} Extent;

static const Extent nothing = { INFINITY, -INFINITY, 0, 0 };

struct _StudioSeries
{
  gatomicrefcount refs;
  GArray *points;
  GArray *level[MAX_LEVEL]; /* of Extent; an entry of level[k] covers FANOUT^(k+1) points; only complete entries */
  gsize last_cost;
};

StudioSeries *
studio_series_new (void)
{
  StudioSeries *s = g_new0 (StudioSeries, 1);
  g_atomic_ref_count_init (&s->refs);
  s->points = g_array_new (FALSE, FALSE, sizeof (Point));
  return s;
}

StudioSeries *
studio_series_ref (StudioSeries *s)
{
  g_return_val_if_fail (s != NULL, NULL);
  g_atomic_ref_count_inc (&s->refs);
  return s;
}

void
studio_series_unref (StudioSeries *s)
{
  g_return_if_fail (s != NULL);
  if (!g_atomic_ref_count_dec (&s->refs))
    return;
  g_array_unref (s->points);
  for (int k = 0; k < MAX_LEVEL; k++)
    g_clear_pointer (&s->level[k], g_array_unref);
  g_free (s);
}

static void
extend (Extent *e, const Extent *by)
{
  e->min = MIN (e->min, by->min);
  e->max = MAX (e->max, by->max);
  e->sum += by->sum;
  e->n += by->n;
}

static void
extend_by_point (Extent *e, double y)
{
  const Extent point = { y, y, y, 1 };
  if (isfinite (y))
    extend (e, &point);
}

/* Builds the entries that the last append has completed, from the bottom up. */
static void
complete_levels (StudioSeries *s)
{
  gsize below = s->points->len;
  for (int k = 0; k < MAX_LEVEL && below % FANOUT == 0; k++)
    {
      Extent e = nothing;
      for (gsize i = below - FANOUT; i < below; i++)
        {
          if (k == 0)
            extend_by_point (&e, g_array_index (s->points, Point, i).y);
          else
            {
              extend (&e, &g_array_index (s->level[k - 1], Extent, i));
            }
        }
      if (s->level[k] == NULL)
        s->level[k] = g_array_new (FALSE, FALSE, sizeof (Extent));
      g_array_append_val (s->level[k], e);
      below = s->level[k]->len;
    }
}

/* Drops every point with at least this x. */
static void
truncate_at (StudioSeries *s, double x)
{
  g_return_if_fail (s != NULL);
  gsize n = s->points->len;
  while (n > 0 && g_array_index (s->points, Point, n - 1).x >= x)
    n--;
  g_array_set_size (s->points, n);
  for (int k = 0; k < MAX_LEVEL && s->level[k] != NULL; k++)
    {
      n /= FANOUT;
      g_array_set_size (s->level[k], MIN (n, s->level[k]->len));
    }
}

void
studio_series_append (StudioSeries *s, double x, double y)
{
  g_return_if_fail (s != NULL && isfinite (x));
  if (s->points->len > 0 && x < g_array_index (s->points, Point, s->points->len - 1).x)
    truncate_at (s, x);
  Point p = { x, y };
  g_array_append_val (s->points, p);
  complete_levels (s);
}

gsize
studio_series_length (const StudioSeries *s)
{
  return s->points->len;
}

void
studio_series_get (const StudioSeries *s, gsize i, double *x, double *y)
{
  g_return_if_fail (i < s->points->len);
  Point p = g_array_index (s->points, Point, i);
  if (x != NULL)
    *x = p.x;
  if (y != NULL)
    *y = p.y;
}

gsize
studio_series_lower_bound (const StudioSeries *s, double x)
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
studio_series_nearest (const StudioSeries *s, double x, gsize *index)
{
  gsize n = s->points->len;
  if (n == 0)
    return FALSE;
  gsize i = studio_series_lower_bound (s, x);
  if (i == n || (i > 0 && x - g_array_index (s->points, Point, i - 1).x < g_array_index (s->points, Point, i).x - x))
    i--;
  *index = i;
  return TRUE;
}

/* The largest block that begins at i, ends at or before `to`, and has an entry. */
static int
block_level (const StudioSeries *s, gsize i, gsize to)
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
studio_series_range (const StudioSeries *s, gsize from, gsize to, double *min, double *max, double *mean)
{
  Extent e = nothing;
  gsize cost = 0;
  to = MIN (to, s->points->len);
  for (gsize i = from; i < to; cost++)
    {
      int k = block_level (s, i, to);
      if (k < 0)
        extend_by_point (&e, g_array_index (s->points, Point, i++).y);
      else
        {
          gsize size = FANOUT;
          for (int j = 0; j < k; j++)
            size *= FANOUT;
          extend (&e, &g_array_index (s->level[k], Extent, i / size));
          i += size;
        }
    }
  ((StudioSeries *)s)->last_cost = cost;
  if (e.min > e.max)
    return FALSE;
  *min = e.min;
  *max = e.max;
  if (mean != NULL)
    *mean = e.sum / e.n;
  return TRUE;
}

gsize
studio_series_last_cost (const StudioSeries *s)
{
  return s->last_cost;
}

gboolean
studio_series_last (const StudioSeries *s, double *x, double *y)
{
  for (gsize i = s->points->len; i > 0; i--)
    {
      studio_series_get (s, i - 1, x, y);
      if (isfinite (*y))
        return TRUE;
    }
  return FALSE;
}
