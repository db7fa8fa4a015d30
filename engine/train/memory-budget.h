/* Whether the plans of a run fit into the memory of its devices, and the batch that would.
 *
 * Plans know their memory without taking it, so batches are tried by planning alone. Each of several ranks plans its
 * own part without an exchange: the rank whose device is too small reports that for itself. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "engine/train/train-data.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  int shards; /* ranks that a batch is divided among */
} MemoryBudget;

/* If a plan of a run with this batch has failed with OUT_OF_MEMORY, adds to the error's message the owners of the
 * memory on the device that lacks it, and the batch that fits. */
void memory_budget_explain (const MemoryBudget *self, gint64 batch, GError **error);
/* FALSE with OUT_OF_MEMORY, and the same words, if a plan of a later part of the run will not fit: before the first
 * step. step and update (which may be NULL) are the plans of the full step with this batch. */
gboolean memory_budget_check (const MemoryBudget *self, gint64 batch, const LoomPlan *step, const LoomPlan *update,
                              GError **error);

G_END_DECLS
