/* Evaluates a split, over all its samples, between two steps. */
#pragma once

#include "engine/train/loss-sums.h"
#include "engine/train/progress.h"
#include "engine/train/run-folder.h"
#include "engine/train/step-plans.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  StepPlans *plans;
  const TrainProgress *progress;
  RunFolder *folder;
  const char *const *metric_name;
  /* Called between two batches. Sets *yields if a command ends the run. */
  gboolean (*poll) (gboolean *yields, gpointer data, GError **error);
  void (*report) (const LoomTrainerEval *eval, gpointer data);
  gpointer owner;

  LoomLoader *loader[LOOM_N_SPLITS]; /* made at the first use */
  double loss, *value;               /* of the last evaluation: loss and metrics */
} Evaluation;

/* The caller sets the fields before `loader`. */
void evaluation_init (Evaluation *self);
void evaluation_clear (Evaluation *self);
/* Uses the moving averages of the weights if there are any. *yielded is set if a command ended the evaluation early;
 * then no values are reported. */
gboolean evaluation_run (Evaluation *self, LoomSplit split, gboolean *yielded, GError **error);
/* The value that <train> monitors. */
double evaluation_monitored (const Evaluation *self);
