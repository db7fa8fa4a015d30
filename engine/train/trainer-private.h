/* The trainer: it owns the parts of a run. loom-trainer.c shows them to callers, trainer-new.c builds them, and
 * trainer-run.c calls them in their order. No part knows the trainer. */
#pragma once

#include "engine/train/breakpoints.h"
#include "engine/train/epoch-end.h"
#include "engine/train/initial-weights.h"
#include "engine/train/loom-trainer.h"
#include "engine/train/run-control.h"
#include "engine/train/run-failure.h"
#include "engine/train/run-observer.h"
#include "engine/train/server-rounds.h"
#include "engine/train/time-machine.h"

struct _LoomTrainer
{
  TrainModel model;
  RankGroup group;
  TrainData data;
  MemoryBudget budget;
  StepPlans plans;
  BatchQueue batches;
  BatchSize batch_size;
  TrainProgress progress;
  LearningRates rates;
  RunFolder folder;
  Checkpoints checkpoints;
  StepLog log;
  StepFailure failure;
  TrainingLoop loop;
  Evaluation evaluation;
  EpochEnd epoch_end;
  TrainObservers observers;
  RunControl control;
  StepWalk walk; /* of the user */
  Breakpoints breakpoints;
  ServerRounds rounds; /* server NULL: none */
  TrainNotes notes;
  LoomTransfer *transfer; /* NULL: no file of initial weights */
  GArray *begins;         /* guint: nodes whose magnitudes of DoRA are not computed yet */
  TimeMachine machine;
  LiveChanges replay; /* of the run that is repeated; empty: none */
  int ranks; /* number of ranks that divided the batch when the run began, whose batch size is <train>'s times these */
  RunObserver observer;
};
