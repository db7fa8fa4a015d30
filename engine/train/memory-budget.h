/* Checks whether the plans of a run fit into the memory of its devices, and finds the largest batch that does.
 *
 * Plans know their memory without allocating it, so batches are tried by planning only. Each of several ranks plans its
 * own part without communication; a rank whose device is too small reports the error. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "engine/train/train-data.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  int shards; /* number of ranks that a batch is divided among */
  /* Of a forecast: the rank, and the number of ranks of this machine that plan like it, with it; 0: one. */
  guint rank;
  int alike;
  gsize available; /* bytes of a device of another machine; 0: those of the device itself */
} MemoryBudget;

/* The device, or the devices with one memory, on which the ranks of a run have the fewest bytes left. */
typedef struct
{
  char *names;             /* (transfer full) */
  gsize needed, available; /* needed: by all ranks with this memory; available: G_MAXSIZE if unknown */
  guint worst;             /* the rank that needs most there, */
  gsize most;              /* and what it needs */
  gint64 largest;          /* the largest batch of a rank that fits, at most that of the run; 0: none */
  LoomShards shards;       /* the division among replicas with which the whole batch fits; NONE: it fits, or none */
} MemoryForecast;

/* If planning a run with this batch has failed with OUT_OF_MEMORY, adds to the error's message the owners of the memory
 * on the device that lacks it, and the batch that fits. */
void memory_budget_explain (const MemoryBudget *self, gint64 batch, GError **error);
/* What the ranks of a run on this machine need with this batch of all ranks together, or of one if there is a server.
 * kinds: n budgets, one for each kind of ranks with the same plans. SHAPE if a step cannot be planned. */
gboolean memory_budget_forecast (const MemoryBudget *kinds, guint n, gint64 batch, MemoryForecast *forecast,
                                 GError **error);
/* Returns FALSE with OUT_OF_MEMORY, and the same details, if a plan of a later part of the run will not fit; to be
 * called before the first step. step and update (may be NULL) are the plans of the full step with this batch. */
gboolean memory_budget_check (const MemoryBudget *self, gint64 batch, const LoomPlan *step, const LoomPlan *update,
                              GError **error);
