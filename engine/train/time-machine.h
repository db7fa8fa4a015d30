/* Takes a run to the state after any of its steps, and back.
 *
 * The nearest state before the step, in memory or a checkpoint, is loaded into the run's own state, and the steps after
 * it are computed again by the run's own plans, with the numbers that were changed at their steps: everything that
 * observers ask for is then of that step, and nothing has to be planned. Recomputed steps write no events and report
 * nothing. The present is kept likewise, and loaded to return. */
#pragma once

#include "engine/train/batch-size.h"
#include "engine/train/epoch-end.h"
#include "engine/train/live-changes.h"
#include "engine/train/folder-history.h"
#include "engine/train/moments.h"
#include "engine/train/training-loop.h"
#include "engine/train/watched-state.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  TrainProgress *progress;
  LearningRates *rates;
  BatchSize *batch_size;
  TrainingLoop *loop;
  StepLog *log;
  RunFolder *folder;
  Checkpoints *checkpoints;
  Evaluation *evaluation;
  EpochEnd *epoch_end;
  WatchedState *watched;

  gboolean is_away;   /* the state is that of another step than the newest */
  gint64 now;         /* that is the newest */
  Moment *newest;     /* that state; NULL: it is the newest checkpoint */
  FolderHistory disk; /* the caller initialises these two */
  Moments moments;
  StateCopy aside;  /* of the newest step, what observers see */
  StepTrace silent; /* records nothing */
} TimeMachine;

/* The caller sets the fields before is_away. */
void time_machine_clear (TimeMachine *self);
/* Call when a run begins. */
void time_machine_begin_run (TimeMachine *self);
/* TRUE if the state after this step is to be kept, in memory or in the folder; then call the other between two steps.
 */
gboolean time_machine_wants (const TimeMachine *self, gint64 step);
void time_machine_keep (TimeMachine *self);
/* Loads the state after a step of the run in a folder, from its nearest checkpoint at or before it, and computes the
 * steps that are missing. is_new: the state is the initial one, from which it begins if there is no checkpoint. DATA if
 * there is none, or the run had fewer steps. */
gboolean time_machine_load (TimeMachine *self, LoomFolder *run, gint64 step, gboolean is_new, GError **error);
/* The same for the run itself, whose newest state is kept in a checkpoint: a step before the newest, whose values
 * observers see from before its update, as during a pause after it. Between two steps. Errors: USAGE if there is no
 * such step, no folder, or ranks share the steps; DATA, IO. */
gboolean time_machine_leave (TimeMachine *self, gint64 step, GError **error);
/* Makes the changes of that run at this step, which apply to the steps after it: of a branch, whose events have them.
 */
gboolean time_machine_change (TimeMachine *self, LoomFolder *run, gint64 step, GError **error);
/* Loads the newest state again; nothing if it is there. */
gboolean time_machine_return (TimeMachine *self, GError **error);
