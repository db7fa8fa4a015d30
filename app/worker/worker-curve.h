/* The points of a run, or its evaluations on a split, whose number is bounded: a series for each figure, all with the
 * same steps. */
#pragma once

#include "app/worker/worker.h"

enum
{
  WORKER_EPOCH,
  WORKER_LOSS,
  WORKER_LR, /* not of evaluations */
  WORKER_METRICS,
  WORKER_N_FIGURES = WORKER_METRICS + WORKER_MAX_METRICS
};

typedef struct
{
  LoomSeries *figure[WORKER_N_FIGURES];
} WorkerCurve;

/* most: the largest number of points, as of loom_series_new(). */
void worker_curve_init (WorkerCurve *curve, guint most);
void worker_curve_clear (WorkerCurve *curve);
/* Removes all points. */
void worker_curve_forget (WorkerCurve *curve, guint most);
/* Makes it equal to another one. */
void worker_curve_set (WorkerCurve *curve, const WorkerCurve *from);
guint worker_curve_length (const WorkerCurve *curve);
void worker_curve_add (WorkerCurve *curve, gint64 step, const double figure[WORKER_N_FIGURES]);
/* Returns the step of a point, and its figures. */
gint64 worker_curve_get (const WorkerCurve *curve, guint i, double figure[WORKER_N_FIGURES]);
