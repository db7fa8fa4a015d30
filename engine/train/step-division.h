/* Divides the programs of a step among the ranks of a run: by samples, shards of weights or pipeline stages. */
#pragma once

#include "engine/train/loom-step.h"
#include "engine/train/rank-group.h"

/* Partitions the step's programs for this rank, if there are several. The first step of a pipeline, one of training,
 * determines the stages for the whole run: they are stored in the model's spec. */
gboolean step_divide (LoomStep *step, const TrainModel *model, const RankGroup *group, GError **error);
