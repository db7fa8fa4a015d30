/* What other threads command and query while a run trains, and what ranks agree on between two steps.
 *
 * Commands and requests are handled at steps from which the run could be resumed. If there are ranks, rank 0 handles
 * them, and the others follow. */
#pragma once

#include "engine/train/agreement.h"
#include "engine/train/inbox.h"
#include "engine/train/observers.h"
#include "engine/train/training-loop.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  StepPlans *plans;
  TrainProgress *progress;
  LearningRates *rates;
  RunFolder *folder;
  Checkpoints *checkpoints;
  StepClock *clock;
  TrainingLoop *loop;
  TrainObservers *observers;
  void (*show) (const char *state, gpointer data); /* the run's state has changed */
  gpointer owner;

  Inbox inbox;
  Agreement agreement;
  const char *shown;
} RunControl;

/* The fields before `inbox` are set. */
void run_control_init (RunControl *self);
void run_control_clear (RunControl *self);
/* Calls show() if the state is another one than before. state: static. */
void run_control_show (RunControl *self, const char *state);
/* TRUE if run_control_poll() is to be called before the next step. */
gboolean run_control_is_wanted (RunControl *self);
/* Handles commands and requests, waits while the run is paused, and shows that it runs if it goes on. A call of all
 * ranks. Errors: DIST if a rank is lost, and those of commands. */
gboolean run_control_poll (RunControl *self, TrainAction *action, GError **error);
/* Between two batches of an evaluation: the run may be paused as between two steps. *yields is set if a command ends
 * the run; a single step waits until the evaluation is over. */
gboolean run_control_poll_evaluation (RunControl *self, gboolean *yields, GError **error);
/* TRUE if a scalar of the state, or a learning rate that no schedule sets, has this name. */
gboolean run_control_has_value (const RunControl *self, const char *name);

G_END_DECLS
