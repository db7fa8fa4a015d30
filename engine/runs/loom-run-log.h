/* The curve and the last figures of a run, from its events.jsonl, and its times and its end, from sessions.jsonl.
 *
 * A list shows many runs, and a run may have 100,000 steps in 8 MB. Of a file longer than LOOM_RUN_LOG_WHOLE bytes only
 * evenly spaced pieces and the end are read, about half a megabyte, so that the time hardly grows with the run.
 * Evaluations, which are few, are searched for in all of it; if it is longer than LOOM_RUN_LOG_SEARCHED bytes, that
 * number of bytes is read: the end, and evenly spaced pieces. */
#pragma once

#include "engine/core/loom-series.h"
#include "engine/infer/loom-run-sessions.h"

#define LOOM_RUN_LOG_WHOLE    1000000  /* bytes */
#define LOOM_RUN_LOG_SEARCHED 16777216 /* bytes */

typedef struct
{
  guint points;           /* of a curve, at most */
  LoomSeries *curve;      /* losses, finite, with steps ascending */
  LoomSeries *validation; /* the losses of all evaluations on `split` likewise */
  gint64 step, epoch;     /* of the last step; 0: none */
  double loss;            /* of the last step; NaN: none, or not finite */
  char *split;            /* of the last evaluation: "val" if there is any of it, else "test"; NULL: none */
  double eval_loss;       /* NaN: none */
  char *metric;           /* the first metric of that evaluation that is a number; NULL: none */
  double value;           /* of that metric */
  double begun, ended;    /* seconds since 1970: of the first session and of the last one */
  double seconds;         /* of all sessions, with pauses and without the time between them */
  gboolean is_training;   /* a process trains in this folder now */
  LoomRunEnd end;         /* of the last session; NONE: it trains, was killed, or is of an earlier version */
  gboolean was_killed;    /* the last session has no end, and no process trains */
  gint64 nan_step;        /* the step or evaluation that was not finite and ended the run; 0: none */
  char *sentence;         /* why the run ended; NULL: none */
} LoomRunLog;

/* An empty log, whose curves will have at most this number of points, from 2. */
void loom_run_log_init (LoomRunLog *log, guint points);
void loom_run_log_clear (LoomRunLog *log);
/* Fills an empty log. Damaged lines are skipped. A run without events.jsonl leaves it empty. Errors: IO. */
gboolean loom_run_log_read (LoomRunLog *log, LoomFolder *run, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomRunLog, loom_run_log_clear)
