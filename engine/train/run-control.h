/* Commands and queries of other threads while a run trains, and the agreement of ranks between two steps.
 *
 * Commands and requests are handled after steps from which the run could be resumed. With several ranks, rank 0 handles
 * them, and the others follow. */
#pragma once

#include "engine/train/agreement.h"
#include "engine/train/batch-size.h"
#include "engine/train/inbox.h"
#include "engine/train/live-changes.h"
#include "engine/train/observers.h"
#include "engine/train/training-loop.h"

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  StepPlans *plans;
  TrainProgress *progress;
  LearningRates *rates;
  BatchSize *batch_size;
  TrainNotes *notes;
  RunFolder *folder;
  Checkpoints *checkpoints;
  StepClock *clock;
  TrainingLoop *loop;
  TrainObservers *observers;
  void (*show) (const char *state, gpointer data); /* the run's state has changed */
  /* On other ranks than the first: one of its breakpoints. FALSE: the value is none. May be NULL. */
  gboolean (*take_breakpoint) (const char *name, double value, gpointer data);
  /* Before anything changes or continues the run: it shows its newest step again. May be NULL. */
  gboolean (*come_back) (gpointer data, GError **error);
  gpointer owner;

  Inbox inbox;
  Agreement agreement;
  const char *shown;
} RunControl;

/* The caller sets the fields before `inbox`. */
void run_control_init (RunControl *self);
void run_control_clear (RunControl *self);
/* Calls show() if the state has changed. state: static. */
void run_control_show (RunControl *self, const char *state);
/* TRUE if run_control_poll() must be called before the next step. */
gboolean run_control_is_wanted (RunControl *self);
/* Handles commands and requests, waits while the run is paused, and then shows that it runs. Called by all ranks.
 * Errors: DIST if a rank is lost, and those of commands. */
gboolean run_control_poll (RunControl *self, TrainAction *action, GError **error);
/* Called between two batches of an evaluation: the run may be paused as between two steps. *yields is set if a command
 * ends the run; a single step waits until the evaluation is over. */
gboolean run_control_poll_evaluation (RunControl *self, gboolean *yields, GError **error);
/* Makes the changes of a repeated run at the finished step, and those with which it began. */
gboolean run_control_replay (RunControl *self, LiveChanges *changes, GError **error);
/* TRUE if a scalar of the state, or a learning rate that no schedule sets, has this name. */
gboolean run_control_has_value (const RunControl *self, const char *name);
/* Returns FALSE with USAGE, and a sentence, if the run has no such number or it cannot have this value: its limits are
 * those of the optimiser's, the operator's or the attribute's description. On any thread. */
gboolean run_control_check_value (const RunControl *self, const char *name, double value, GError **error);
