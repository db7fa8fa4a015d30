/* The trainer: it owns the parts of a run. loom-trainer.c shows them to callers, trainer-new.c builds them, and
 * trainer-run.c calls them in their order. No part knows the trainer. */
#pragma once

#include "engine/train/agreement.h"
#include "engine/train/evaluation.h"
#include "engine/train/initial-weights.h"
#include "engine/train/loom-trainer.h"
#include "engine/train/observers.h"
#include "engine/train/rank-server.h"
#include "engine/train/training-loop.h"

G_BEGIN_DECLS

struct _LoomTrainer
{
  TrainModel model;
  RankGroup group;
  TrainData data;
  MemoryBudget budget;
  StepPlans plans;
  BatchQueue batches;
  TrainProgress progress;
  LearningRates rates;
  RunFolder folder;
  Checkpoints checkpoints;
  StepLog log;
  StepFailure failure;
  TrainingLoop loop;
  Evaluation evaluation;
  TrainObservers observers;
  Agreement agreement;
  RankServer *server; /* NULL: none */
  Inbox inbox;
  TrainNotes notes;
  LoomTransfer *transfer; /* NULL: no file of initial weights */
  int ranks; /* number of ranks that divided the batch when the run began, whose batch size is <train>'s times these */

  LoomTrainerObserver observer;
  gpointer observer_data;
  const char *shown_state;
};

/* The functions of the trainer that its inbox calls (trainer-run.c). */
InboxOwner trainer_inbox_owner (LoomTrainer *t);
/* Called between two batches of an evaluation: the run may be paused here as between two steps; a command that ends it
 * also ends the evaluation, and a requested single step waits until the evaluation is over. */
gboolean trainer_poll_evaluation (gboolean *yields, gpointer data, GError **error);

G_END_DECLS
