/* Implements worker-curve.h. */
#include "app/worker/worker-curve.h"

void
worker_curve_init (WorkerCurve *c, guint most)
{
  for (guint k = 0; k < WORKER_N_FIGURES; k++)
    c->figure[k] = loom_series_new (most);
}

void
worker_curve_clear (WorkerCurve *c)
{
  for (guint k = 0; k < WORKER_N_FIGURES; k++)
    loom_series_unref (c->figure[k]);
}

void
worker_curve_forget (WorkerCurve *c, guint most)
{
  worker_curve_clear (c);
  worker_curve_init (c, most);
}

void
worker_curve_set (WorkerCurve *c, const WorkerCurve *from)
{
  worker_curve_clear (c);
  for (guint k = 0; k < WORKER_N_FIGURES; k++)
    c->figure[k] = loom_series_copy (from->figure[k]);
}

guint
worker_curve_length (const WorkerCurve *c)
{
  return (guint)loom_series_length (c->figure[0]);
}

void
worker_curve_add (WorkerCurve *c, gint64 step, const double figure[WORKER_N_FIGURES])
{
  for (guint k = 0; k < WORKER_N_FIGURES; k++)
    loom_series_append (c->figure[k], (double)step, figure[k]);
}

gint64
worker_curve_get (const WorkerCurve *c, guint i, double figure[WORKER_N_FIGURES])
{
  double step = 0;

  for (guint k = 0; k < WORKER_N_FIGURES; k++)
    loom_series_get (c->figure[k], i, &step, &figure[k]);
  return (gint64)step;
}
