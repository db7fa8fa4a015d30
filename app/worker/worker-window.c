/* The value on the curve of a training metric: the mean over the last epoch's worth of steps.
 *
 * The trainer reports the mean of the epoch so far. That is the number of events and of the epoch's end, but drawn as a
 * curve it falls back onto single batches at the start of each epoch, and jumps. So the part of the epoch that is still
 * to come is taken from the epoch before. At an epoch's end both means are the same number; within the first epoch, and
 * the first that a resumed run sees, there is no epoch before, and the mean so far is shown as it is.
 *
 * With S(f) the sum over the first fraction f of an epoch, divided by the epoch's steps (f times the mean so far), the
 * window is S_now(f) + S_before(1) − S_before(f). S_before is kept on a grid of WORKER_WINDOW cells and taken as
 * straight between its points, so that an epoch of a million steps costs no more memory than one of a hundred. */
#include "app/worker/worker.h"

#include <math.h>
#include <string.h>

void
worker_window_begin (WorkerWindow *w, guint n_metrics)
{
  w->epoch = -1;
  w->n_metrics = MIN (n_metrics, WORKER_MAX_METRICS);
  w->has_before = w->from_start = FALSE;
}

static void
begin_epoch (WorkerWindow *w, gint64 epoch, gint64 place)
{
  gboolean whole = w->from_start && epoch == w->epoch + 1 && w->place == w->steps;

  if (whole)
    memcpy (w->before, w->now, sizeof w->before);
  w->has_before = whole;
  w->from_start = place == 1;
  w->epoch = epoch;
  w->place = 0;
  for (guint i = 0; i < w->n_metrics; i++)
    w->now[i][0] = 0;
}

/* Between the place before and this one, the sum is straight on the grid. */
static void
note (WorkerWindow *w, gint64 place, gint64 steps, const double *mean)
{
  gint64 first = w->place * WORKER_WINDOW / steps + 1, last = place * WORKER_WINDOW / steps;

  for (guint i = 0; i < w->n_metrics; i++)
    {
      double from = w->place > 0 ? w->sum[i] : 0, to = mean[i] * (double)place / (double)steps;
      for (gint64 cell = first; cell <= last; cell++)
        {
          double at = (double)cell * (double)steps / WORKER_WINDOW;
          w->now[i][cell] = from + (to - from) * (at - (double)w->place) / (double)(place - w->place);
        }
      w->sum[i] = to;
    }
  w->place = place;
  w->steps = steps;
}

void
worker_window_take (WorkerWindow *w, gint64 step, gint64 epoch, gint64 steps_per_epoch, double *mean)
{
  gint64 place = step - (epoch - 1) * steps_per_epoch;

  /* A count that does not fit is none of a run that begins its epochs at their starts: it is shown as it came. */
  if (place < 1 || place > steps_per_epoch)
    return;
  if (epoch != w->epoch)
    begin_epoch (w, epoch, place);
  if (place <= w->place)
    return;
  note (w, place, steps_per_epoch, mean);
  if (!w->has_before)
    return;
  double x = (double)place * WORKER_WINDOW / (double)steps_per_epoch;
  gint64 cell = MIN ((gint64)x, WORKER_WINDOW - 1);
  for (guint i = 0; i < w->n_metrics; i++)
    {
      const double *s = w->before[i];
      double rest = s[WORKER_WINDOW] - (s[cell] + (s[cell + 1] - s[cell]) * (x - (double)cell));
      double window = w->sum[i] + rest;
      /* A metric of few values in the batch (none of a class) may have none: then there is nothing to go on with. */
      if (isfinite (window))
        mean[i] = window;
    }
}
