/* Tests the breakpoints of a run before each step, on the values that this step will have, and stops training if a
 * condition holds.
 *
 * A step is walked by the eager executor (step-walk.h) up to the last pass that a condition reads, before training
 * takes it: this costs about a second forward and backward pass. A condition that only asks for finite values costs
 * nothing: training finds by itself that a step is not finite, before it writes a weight, and only that step is walked.
 * Without breakpoints nothing is computed.
 *
 * Ranks that have whole weights test the samples of each: all test at the same time, and if one of them meets a
 * condition, all pause. If each has only a part of the weights, all gather them before the step, and the first rank
 * tests the samples of all. */
#pragma once

#include "engine/train/agreement.h"
#include "engine/train/loom-breakpoint.h"
#include "engine/train/step-walk.h"

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  TrainingLoop *loop;
  WatchedState *watched;
  void (*report) (const LoomBreakHit *hit, gpointer data); /* may be NULL; on the first rank */
  gpointer data;

  StepWalk walk;
  GArray *list;   /* LoomBreakpoint */
  gint64 passed;  /* the step at which training stood already */
  int rank;       /* that met the condition then; -1: all have the same samples */
  gint64 suspect; /* the step that was not finite */
} Breakpoints;

/* The caller sets the fields before `walk`. */
void breakpoints_init (Breakpoints *self);
void breakpoints_clear (Breakpoints *self);
/* Replaces the list; copied. Between two steps. With a parameter server a note says that it has no effect. */
void breakpoints_set (Breakpoints *self, const LoomBreakpoint *list, guint n);
/* The list of the first rank reaches the others with the next agreement; they take its values. FALSE: another value. */
void breakpoints_share (const Breakpoints *self, Agreement *agreement);
gboolean breakpoints_take (Breakpoints *self, const char *name, double value);
/* TRUE if breakpoints_test() must be called before the next step, when every queued step has been read. */
gboolean breakpoints_are_due (const Breakpoints *self);
/* Sets *hit if a condition is met: training must stand before the step. Called by all ranks. */
gboolean breakpoints_test (Breakpoints *self, gboolean *hit, GError **error);
/* The rank whose samples met a condition at the next step, else the first one; -1: the run has one rank. */
int breakpoints_rank (const Breakpoints *self);
/* Call if a step was not finite. TRUE if it is to be repeated, and tested before. */
gboolean breakpoints_suspect (Breakpoints *self);
