/* Checks whether the plans of a run fit into the memory of its devices, and finds the largest batch that does.
 *
 * Plans know their memory without allocating it, so batches are tried by planning only. Each of several ranks plans its
 * own part without communication; a rank whose device is too small reports the error. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "engine/train/train-data.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  int shards; /* number of ranks that a batch is divided among */
} MemoryBudget;

/* The device, or the devices with one memory, on which a run has the fewest bytes left. */
typedef struct
{
  char *names;             /* (transfer full) */
  gsize needed, available; /* available: G_MAXSIZE if unknown */
  gint64 largest;          /* the largest batch that fits, at most that of the run; 0: none */
} MemoryForecast;

/* If planning a run with this batch has failed with OUT_OF_MEMORY, adds to the error's message the owners of the memory
 * on the device that lacks it, and the batch that fits. */
void memory_budget_explain (const MemoryBudget *self, gint64 batch, GError **error);
/* What the run needs with this batch. SHAPE if its step cannot be planned. */
gboolean memory_budget_forecast (const MemoryBudget *self, gint64 batch, MemoryForecast *forecast, GError **error);
/* Returns FALSE with OUT_OF_MEMORY, and the same details, if a plan of a later part of the run will not fit; to be
 * called before the first step. step and update (may be NULL) are the plans of the full step with this batch. */
gboolean memory_budget_check (const MemoryBudget *self, gint64 batch, const LoomPlan *step, const LoomPlan *update,
                              GError **error);

G_END_DECLS
