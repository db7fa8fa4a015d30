/* The rounds of a run with a parameter server (rank-server.h): which parts of the run a round uses, and what rank 0
 * does between two rounds. */
#pragma once

#include "engine/train/checkpoints.h"
#include "engine/train/inbox.h"
#include "engine/train/rank-reports.h"
#include "engine/train/rank-server.h"
#include "engine/train/step-trace.h"

typedef struct
{
  RankServer *server;
  const TrainData *data;
  StepPlans *plans;
  LearningRates *rates;
  StepLog *log;
  StepFailure *failure;
  const TrainProgress *progress;
  Checkpoints *checkpoints;
  Inbox *inbox;
  RankReports *reports;
} ServerRounds;

/* NULL without an error if the run has no server. `trace` is not recorded if it is optional: no step is taken by all
 * ranks together. Otherwise USAGE, and if there are fewer than two ranks. (transfer full) */
RankServer *server_rounds_open (TrainModel *model, const RankGroup *group, StepTrace *trace, GError **error);
/* Takes at least one and at most `steps` steps, and writes a checkpoint that is due. Called by all ranks. */
gboolean server_rounds_take (ServerRounds *self, gint64 steps, GError **error);
