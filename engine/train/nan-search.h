/* Finds where a value that is not finite arose.
 *
 * A failed step has committed nothing, so it can be repeated by the eager executor, with the same batch, seed and step.
 * The first value that is not finite identifies the node. The iterations of a loop are searched, too. */
#pragma once

#include "engine/train/step-plan.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
} NanSearch;

typedef struct
{
  char *node, *port;         /* that failed; NULL: unknown */
  char *sentence;            /* without its full stop */
  gboolean is_of_data;       /* the batch is not finite */
  gboolean weights_overflow; /* the weights make the next batch overflow, whatever the learning rate */
} NanPlace;

/* Repeats the plan's current batch, which has failed in the step after `step` steps, and leaves the state unchanged.
 * Called by all ranks. */
void nan_search (const NanSearch *self, gint64 step, StepPlan *plan, const LoomBatch *batch, NanPlace *place);
void nan_place_clear (NanPlace *place);
