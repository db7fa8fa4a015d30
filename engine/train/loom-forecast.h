/* Forecasts whether a run fits into memory, before it is started: its plans know their memory without allocating it. */
#pragma once

#include "engine/train/loom-train-options.h"

#include "engine/graph/loom-graph.h"

G_BEGIN_DECLS

typedef struct
{
  char *devices;         /* those that share the tightest memory, separated by commas */
  gsize needed;          /* bytes of the whole run there */
  gsize available;       /* G_MAXSIZE: unknown */
  gint64 batch, largest; /* the run's batch size, and the largest that fits, at most that; 0: none */
} LoomForecast;

/* For a single rank; the options as for a new run. It opens the data set and plans each part of the run. Errors: those
 * of loom_trainer_new(). */
gboolean
loom_forecast (const LoomGraph *graph, const LoomTrainerOptions *options, LoomForecast *forecast, GError **error);
void loom_forecast_clear (LoomForecast *forecast);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomForecast, loom_forecast_clear)

G_END_DECLS
