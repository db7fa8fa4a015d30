/* The end of a failed run: saving its finished steps, and a sentence that describes how to resume it. */
#pragma once

#include "engine/train/training-loop.h"

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  const TrainProgress *progress;
  const TrainingLoop *loop;
  const NanPlace *place; /* of a value that is not finite */
  RunFolder *folder;
  Checkpoints *checkpoints;
} RunFailure;

/* Writes a checkpoint of the finished steps if the state is still valid. */
void run_failure_save (const RunFailure *self, const GError *failure);
/* Ends the session with the failure, and writes it into events.jsonl, unless that cannot be written. */
void run_failure_note (const RunFailure *self, const GError *failure);
/* Adds to the error the step of the failure and the command that resumes the run, unless it contains them already. */
void run_failure_explain (const RunFailure *self, GError *failure);

/* The error of a run that is interrupted after this step: CANCELLED. */
void run_failure_interrupted (const RankGroup *group, const RunFolder *folder, gint64 step, GError **error);
