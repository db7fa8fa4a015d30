/* Points and evaluations of a run, thinned out evenly so that their number is bounded. */
#pragma once

#include "app/worker/worker.h"

/* The last point of every `stride` steps, less than `most`; always includes the newest. */
typedef struct
{
  WorkerPoint *point;
  guint n, most;
  gint64 stride;
} WorkerCurve;

/* size: of the points' memory, which is not allocated again; most: at most that. */
void worker_curve_init (WorkerCurve *curve, guint size, guint most);
void worker_curve_clear (WorkerCurve *curve);
/* Removes all points. */
void worker_curve_forget (WorkerCurve *curve, guint most);
/* Never allocates. */
void worker_curve_add (WorkerCurve *curve, const WorkerPoint *point);
/* `to` has at least the size of `from`. */
void worker_curve_copy (WorkerCurve *to, const WorkerCurve *from);

typedef struct
{
  char *split;
  gint64 nth; /* evaluation of the run */
  gint64 step, epoch;
  double loss, metric[WORKER_MAX_METRICS];
} WorkerEval;

void worker_eval_free (WorkerEval *eval);

/* The last of every `stride` evaluations of a split, at most 16 in all; always includes the newest. */
typedef struct
{
  GQueue all; /* WorkerEval */
  gint64 stride;
} WorkerEvals;

/* Also initialises one whose bytes are zero. */
void worker_evals_clear (WorkerEvals *evals);
/* eval: (transfer full) */
void worker_evals_add (WorkerEvals *evals, WorkerEval *eval);
