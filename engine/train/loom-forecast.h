/* Forecasts whether a run fits into memory, before it is started: its plans know their memory without allocating it. */
#pragma once

#include "engine/train/loom-train-options.h"

#include "engine/graph/loom-graph.h"

typedef struct
{
  char *devices;         /* those that share the tightest memory, separated by commas */
  gsize needed;          /* bytes of the whole run there, of all ranks that use this memory */
  gsize available;       /* G_MAXSIZE: unknown */
  int ranks, worst;      /* the number of ranks, and the one that needs most there, */
  gsize most;            /* and what it needs */
  gint64 batch, largest; /* the batch size of a rank, and the largest that fits, at most that; 0: none */
  const char *strategy;  /* the strategy of <parallel> with which this batch fits; NULL: it fits, or there is none */
} LoomForecast;

/* The options as for a new run, whose comm is ignored: `ranks` ranks, all on this machine and each with a communicator
 * of comm (NULL: a single rank), are planned without communication, one of each kind. It opens the data set and plans
 * each part of the run. available: the bytes of a device of another machine, which is planned as that of this one; 0:
 * those of this machine's. Errors: those of loom_trainer_new(). */
gboolean loom_forecast (const LoomGraph *graph, const LoomTrainerOptions *options, LoomComm *const *comm, int ranks,
                        gsize available, LoomForecast *forecast, GError **error);
void loom_forecast_clear (LoomForecast *forecast);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomForecast, loom_forecast_clear)
