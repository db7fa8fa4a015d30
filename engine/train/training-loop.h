/* Takes the steps of a run, with a queue of depth 0 or 1.
 *
 * At depth 1 a step is read one step late, so that an asynchronous device never waits for its caller: the next step is
 * queued, and then the previous one, which has finished by then, is read, counted and reported. At depth 0 a step is
 * read as soon as it is queued. The progress counts the steps that were read; the state may be one step further.
 * training_loop_finish() makes both agree; it is called before a checkpoint, a command, an evaluation and the end of a
 * run. A fault closes the gates of all steps on the device, so a step that was queued after the fault has written
 * nothing.
 *
 * A step of several batches is one run of an executor per batch and one run of another executor, the update; each is
 * queued before the previous one is read. Slots that a batch commits (running statistics) must be restored if a later
 * one fails, and are copied from the device before the first: a step with such slots begins when the previous step was
 * read.
 *
 * Ranks stay together: faults of a step in which all of them communicate are reported to them at the same point, when
 * the next is queued on all of them (loom_exec_end()), so that no rank waits in an exchange that the others do not
 * enter. They agree on the host before each step, and read the queued step if one of them requires it. If one rank has
 * to read at once, all do, because it would otherwise stop before an exchange that the others have entered. */
#pragma once

#include "engine/train/batch-queue.h"
#include "engine/train/loom-driver.h"
#include "engine/train/loss-sums.h"
#include "engine/train/rank-reports.h"
#include "engine/train/rollback.h"
#include "engine/train/step-failure.h"
#include "engine/train/step-plans.h"
#include "engine/train/step-timings.h"
#include "engine/train/step-trace.h"

/* A run of an executor that was queued and not read: a step, or with accumulation one of its batches or the update. */
typedef struct
{
  LoomExec *exec; /* NULL: none */
  StepPlan *plan; /* NULL: the update */
  const LoomBatch *batch;
  gint64 number; /* of the executor's step */
  gint64 part;   /* the number of the batch in the step, from 0 */
  double share;  /* fraction of the step's samples */
  double lr, samples;
  double loss, grad_norm; /* of the step, after it was read */
} QueuedRun;

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  StepPlans *plans;
  BatchQueue *batches;
  LearningRates *rates;
  StepLog *log;
  StepFailure *failure;
  /* Observers of steps. */
  StepTrace *trace;
  RankReports *reports;
  StepTimings *timings;
  const LoomDriver *driver; /* NULL: the optimiser is part of the program */

  gboolean at_once; /* every step is read as soon as it is queued; between steps, when none is queued */
  int depth;        /* maximum number of queued steps */
  QueuedRun queued;
  LossSums loss; /* over the batches of the step that were read */
  double loss_value;
  Rollback *rollback;     /* of a step of several batches; else NULL */
  gboolean is_saved;      /* it has the state before the step in progress */
  gboolean is_between;    /* a step has failed half-way: the state is not that of any step */
  gboolean link_is_known; /* the way in which stages communicate was reported, or need not be */
} TrainingLoop;

/* The caller sets the fields before `depth`, and the first plan and the update exist. */
void training_loop_init (TrainingLoop *self);
void training_loop_clear (TrainingLoop *self);
/* USAGE if a step has failed half-way, so that no further one can follow. */
gboolean training_loop_can_begin (const TrainingLoop *self, GError **error);
/* Call when a run begins: determines the depth, which is the same on all ranks. */
gboolean training_loop_agree (TrainingLoop *self, GError **error);
/* Queues a step, completely or not at all, and reads the previous one, or at depth 0 this one. */
gboolean training_loop_step (TrainingLoop *self, GError **error);
/* The first batch of the next step, which stays the next one, with the numbers of that step in the state, where the
 * step itself puts the same again. Every queued step has been read. */
const LoomBatch *training_loop_peek (TrainingLoop *self, GError **error);
/* The number of steps that are queued and not completely read: 0 or 1. */
gint64 training_loop_ahead (const TrainingLoop *self);
/* Reads the queued step. */
gboolean training_loop_finish (TrainingLoop *self, GError **error);
/* Call when a run has ended. If a step was left unread, because the previous one could not be kept, no checkpoint may
 * be written of this state. */
void training_loop_drop (TrainingLoop *self);
