/* Opens a run: with new weights, from a file of weights, from a checkpoint, or as the branch of another run; and its
 * folder, which is created or continued.
 *
 * Everything that it changes belongs to other parts. It comes last, when the state exists and the first step is
 * planned, so that no folder is made for a run that cannot begin. */
#pragma once

#include "engine/train/initial-weights.h"
#include "engine/train/loom-train-options.h"
#include "engine/train/run-control.h"
#include "engine/train/time-machine.h"

typedef struct
{
  const TrainModel *model;
  TrainData *data;
  const RankGroup *group;
  const RunControl *control;
  int ranks; /* number of ranks that divided the batch when the run began */
  TrainProgress *progress;
  LearningRates *rates;
  RunFolder *folder;
  Checkpoints *checkpoints;
  TimeMachine *machine;
  LiveChanges *replay;
  LoomTransfer **transfer; /* NULL afterwards: no file of initial weights */
  GArray *begins;          /* receives what initial_weights_begin() takes before the first step */
  TrainNotes *notes;
} RunOpening;

/* Restores or loads the state and opens the folder, as the options say. Events record what begins otherwise than in the
 * graph. Errors: USAGE for a step or a folder that cannot be used; DATA for damaged or unsuitable files; IO. */
gboolean run_opening_do (const RunOpening *self, const LoomTrainerOptions *options, GError **error);
