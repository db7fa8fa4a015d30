/* What a run that fails leaves: the steps that it has finished, and a sentence that says how to resume it. */
#pragma once

#include "engine/train/training-loop.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  const TrainProgress *progress;
  const TrainingLoop *loop;
  const NanPlace *place; /* of a value that is not finite */
  const RunFolder *folder;
  Checkpoints *checkpoints;
} RunFailure;

/* Writes a checkpoint of the finished steps if the failure has left them whole. */
void run_failure_save (const RunFailure *self, const GError *failure);
/* Adds to the failure's sentence after which step it came and the command that resumes the run, if it does not say so
 * itself. */
void run_failure_explain (const RunFailure *self, GError *failure);

G_END_DECLS
