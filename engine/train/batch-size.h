/* The batch size of a run, which may change between two of its steps.
 *
 * The run continues with the sample of its epoch at which it was; steps of another size are planned, and share the
 * state and the memory of the others. Evaluations and the views of observers keep <train>'s batch size. Values are
 * those of one rank, as in <train>. */
#pragma once

#include "engine/recipe/loom-live-number.h"
#include "engine/train/batch-queue.h"
#include "engine/train/progress.h"
#include "engine/train/step-plans.h"

typedef struct
{
  const TrainModel *model;
  TrainData *data;
  const RankGroup *group;
  StepPlans *plans;
  BatchQueue *batches;
  TrainProgress *progress;
  const int *ranks; /* that divided the batch when the run began */
} BatchSize;

/* Returns FALSE with USAGE, and a sentence, if the batch size of this run cannot change. On any thread. */
gboolean batch_size_can_change (const BatchSize *self, GError **error);
/* The same, or if it cannot be this one. */
gboolean batch_size_check (const BatchSize *self, double value, GError **error);
/* Changes it between two steps, none of which is queued. Called by all ranks together. Errors: those of
 * batch_size_check(), of planning the step (OUT_OF_MEMORY, SHAPE) on any of the ranks, and DIST; then nothing has
 * changed. */
gboolean batch_size_change (BatchSize *self, double value, GError **error);
/* The one of a rank. */
gint64 batch_size_now (const BatchSize *self);
/* Divides the epoch of the progress, which was loaded or begins, and starts the loader at its next batch. */
gboolean batch_size_begin_epoch (BatchSize *self, GError **error);
