/* The ranks of a run: how many the next run has, how many this one, and the memory of each.
 *
 * A worker reports its ranks only while the run trains. So the newest report is stored; it is requested at the start
 * and every few seconds, even if it is not shown. */
#pragma once

#include "ui/worker/studio-worker.h"

typedef void (*RunRanksChanged) (gpointer data);

typedef struct
{
  int next, live;          /* 0 and 1: one rank */
  GBytes *memory;          /* of each rank, as lines of LOOM_SNAPSHOT_RANKS; NULL: unknown */
  GCancellable *asked;     /* of the request in progress; NULL: none */
  guint wait;              /* calls of run_ranks_tick() until the next request */
  RunRanksChanged changed; /* a report has arrived */
  gpointer data;
} RunRanks;

/* Cancels the request in progress and forgets the report. */
void run_ranks_forget (RunRanks *ranks);
/* TRUE if text (ay) is a report. */
gboolean run_ranks_set_memory (RunRanks *ranks, GVariant *text);
/* Requests a report from the worker, unless the run has one rank or a request is in progress. proxy may be NULL. */
void run_ranks_request (RunRanks *ranks, LoomBusWorker1 *proxy);
/* Called every second while the run trains. */
void run_ranks_tick (RunRanks *ranks, LoomBusWorker1 *proxy);
