/* Summarises a tensor in two passes over its elements; see the header. */
#include "engine/core/loom-summary.h"

#include <math.h>
#include <string.h>

/* Units are channels: [N, C, …] has C of them, a vector as many as elements. */
static double
dead_units (const LoomTensor *t)
{
  const gint64 n = t->rank == 0 ? 1 : t->rank == 1 ? t->dim[0] : t->dim[1];
  gint64 inner = 1, dead = 0;
  g_autofree guint8 *alive = g_new0 (guint8, (gsize)MAX (n, 1));

  for (int d = 2; d < t->rank; d++)
    inner *= t->dim[d];
  for (gint64 i = 0; i < t->count; i++)
    alive[i / inner % n] |= loom_tensor_get (t, i) != 0;
  for (gint64 u = 0; u < n; u++)
    dead += !alive[u];
  return n > 0 ? (double)dead / (double)n : 0;
}

/* Halves, because the difference of two finite numbers can overflow; where it underflows, bin 0. */
static int
bin_of (double x, double min, double max)
{
  const double at = (x / 2 - min / 2) / (max / 2 - min / 2) * LOOM_SUMMARY_BINS;

  return isfinite (at) ? CLAMP ((int)at, 0, LOOM_SUMMARY_BINS - 1) : 0;
}

void
loom_summary_of (const LoomTensor *t, double scale, LoomSummary *s)
{
  double sum = 0, squares = 0;
  gint64 n = 0;

  *s = (LoomSummary){ .count = t->count, .min = INFINITY, .max = -INFINITY };
  if (t->count > 0)
    s->first = loom_tensor_get (t, 0) * scale;
  for (gint64 i = 0; i < t->count; i++)
    {
      const double x = loom_tensor_get (t, i) * scale;

      if (!isfinite (x))
        {
          s->n_bad++;
          continue;
        }
      n++;
      sum += x;
      squares += x * x;
      s->min = MIN (s->min, x);
      s->max = MAX (s->max, x);
    }
  if (n == 0)
    {
      s->min = s->max = 0;
      return;
    }
  s->mean = sum / (double)n;
  s->norm = sqrt (squares);
  s->dead = dead_units (t);
  for (gint64 i = 0; i < t->count; i++)
    {
      const double x = loom_tensor_get (t, i) * scale, off = x - s->mean;

      if (!isfinite (x))
        continue;
      s->deviation += off * off;
      s->bin[bin_of (x, s->min, s->max)]++;
    }
  s->deviation = sqrt (s->deviation / (double)n);
}

void
loom_port_summary_set (LoomPortSummary *port, const LoomTensor *tensor, double scale)
{
  *port = (LoomPortSummary){ .is_known = TRUE, .rank = tensor->rank };
  memcpy (port->dim, tensor->dim, (gsize)tensor->rank * sizeof tensor->dim[0]);
  loom_summary_of (tensor, scale, &port->summary);
}
