/* The end of an epoch: evaluation, best weights, early stop, events, and a checkpoint if one is due. */
#pragma once

#include "engine/train/checkpoints.h"
#include "engine/train/evaluation.h"
#include "engine/train/step-log.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  TrainProgress *progress;
  StepLog *log;
  Evaluation *evaluation;
  RunFolder *folder;
  Checkpoints *checkpoints;
  void (*early_stop) (const LoomTrainerWatch *watch, gpointer data);
  gpointer owner;
} EpochEnd;

/* TRUE if the run has no further epoch. */
gboolean epoch_end_is_last (const EpochEnd *self);
/* Call after an epoch's last step. The epoch counts as done only after its evaluation, so that a run resumed in between
 * evaluates again. *yielded is set if a command ended the evaluation; the epoch is not over then. */
gboolean epoch_end_run (EpochEnd *self, gboolean *yielded, GError **error);
/* The end of an epoch that is computed again: only what later steps depend on, without reports and files. */
gboolean epoch_end_repeat (EpochEnd *self, GError **error);
/* Evaluates without an epoch: validation, and the test samples if both exist; or the loss, if it depends on no data
 * set. */
gboolean epoch_end_evaluate (EpochEnd *self, gboolean *yielded, GError **error);
