/* Finds where a value that is not finite came from.
 *
 * A step that went wrong committed nothing, so it can be repeated: eagerly, a primitive at a time, with the same batch,
 * seed and step. The first value that is not finite names its node. The iterations of a loop are walked through. */
#pragma once

#include "engine/train/step-plan.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
} NanSearch;

typedef struct
{
  char *node, *port;         /* that failed; NULL: not known */
  char *sentence;            /* without its full stop */
  gboolean is_of_data;       /* the batch is not finite */
  gboolean weights_overflow; /* the weights make the next batch overflow, whatever the learning rate */
} NanPlace;

/* The batch of the plan, still its input, has failed in the step after `step` steps: repeats it, and leaves the state
 * as it was before. A call of all ranks. */
void nan_search (const NanSearch *self, gint64 step, StepPlan *plan, const LoomBatch *batch, NanPlace *place);
void nan_place_clear (NanPlace *place);

G_END_DECLS
