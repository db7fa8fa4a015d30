/* The curve and the last figures of a run, from its events.jsonl.
 *
 * A list shows many runs, and a run may have 100,000 steps in 8 MB. Of a file longer than LOOM_RUN_LOG_WHOLE bytes only
 * evenly spaced pieces and the end are read, about half a megabyte, so that the time does not grow with the run. */
#pragma once

#include "engine/core/loom-folder.h"

G_BEGIN_DECLS

#define LOOM_RUN_LOG_WHOLE 1000000 /* bytes */

typedef struct
{
  double step, loss; /* the loss is the mean over the steps that the point stands for */
} LoomRunPoint;

typedef struct
{
  GArray *curve;        /* LoomRunPoint, at most as many as wanted, steps ascending, losses finite */
  gint64 step, epoch;   /* of the last step; 0: none */
  double loss;          /* of the last step; NaN: none, or not finite */
  char *split;          /* of the last evaluation: "val" if there is any of it, else "test"; NULL: none */
  double eval_loss;     /* NaN: none */
  char *metric;         /* the first metric of that evaluation that is a number; NULL: none */
  double value;         /* of that metric */
  double begun, ended;  /* seconds since 1970: when the file was made, and last written */
  gboolean is_training; /* a process trains in this folder now */
} LoomRunLog;

void loom_run_log_clear (LoomRunLog *log);
/* points: the largest number of points of the curve, from 2. Damaged lines are skipped. A run without events.jsonl has
 * an empty log. Errors: IO. */
gboolean loom_run_log_read (LoomFolder *run, guint points, LoomRunLog *log, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomRunLog, loom_run_log_clear)

G_END_DECLS
