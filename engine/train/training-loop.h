/* Takes the steps of a run, with a queue of depth 0 or 1.
 *
 * At depth 1 a step is read one step late, so that a device which computes while its caller continues never waits for
 * it: the next step is queued, and then the one before it, which is over by then, is read, counted and reported. At
 * depth 0 a step is read as soon as it is queued.
 *
 * The progress is that of the steps that were read; the state may be one step further. training_loop_finish() makes
 * both agree: a checkpoint, a command, an evaluation and the end of a run come after it. A fault closes the gates of
 * all steps on the device, so a step that was queued after the fault has written nothing.
 *
 * A step of several batches is one run of an executor per batch and a run of another one, the update; each is queued
 * before the one in front of it is read. Slots that a batch commits (running statistics) have to be put back if a later
 * one fails, and are fetched from the device before the first: a step with such slots begins when the one before it was
 * read.
 *
 * Ranks stay together: faults of a step that all of them exchange in are reported to them at the same point, when the
 * next is queued on all of them (loom_exec_end()), so that no rank is left alone in an exchange. They agree by the host
 * before each step, and read the queued step if one of them needs that. If one rank has to read at once, all do, or it
 * would stop before an exchange that the others are in. */
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

G_BEGIN_DECLS

/* A run of an executor that was queued and not read: a step; if batches are accumulated one of its batches, or the
 * update from them. */
typedef struct
{
  LoomExec *exec; /* NULL: there is none */
  StepPlan *plan; /* NULL: the update */
  const LoomBatch *batch;
  gint64 number; /* the executor's */
  gint64 part;   /* which batch of the step it is, from 0 on */
  double share;  /* of the step's samples */
  double lr, samples;
  double loss, grad_norm; /* of the step, once it was read */
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

  int depth; /* of the queue */
  QueuedRun queued;
  LossSums loss; /* of the batches of the step that were read */
  double loss_value;
  Rollback *rollback;     /* of a step of several batches; else NULL */
  gboolean is_saved;      /* it has the state that the step in flight began from */
  gboolean is_between;    /* a step has failed half-way: the state is of no step */
  gboolean link_is_known; /* how stages exchange was reported, if that is to be */
} TrainingLoop;

/* The fields before `depth` are set, and the first plan and the update are made. */
void training_loop_init (TrainingLoop *self);
void training_loop_clear (TrainingLoop *self);
/* A run begins: ranks read late together or not at all. */
gboolean training_loop_agree (TrainingLoop *self, GError **error);
/* Queues a step, whole or not at all, and reads the one before it, or at depth 0 itself. */
gboolean training_loop_step (TrainingLoop *self, GError **error);
/* The number of steps that were queued and not read whole: 0 or 1. */
gint64 training_loop_ahead (const TrainingLoop *self);
/* Reads the queued step. */
gboolean training_loop_finish (TrainingLoop *self, GError **error);
/* A run has ended. If a step was left unread, because the one before it could not be kept, no checkpoint may be written
 * of this state. */
void training_loop_drop (TrainingLoop *self);

G_END_DECLS
