/* The trace of one step: the time of each instruction on every rank, and where a rank waited for others. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/train/loom-trace.h"
#include "engine/train/rank-group.h"

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  char *path;           /* the file for one step; NULL: none */
  gboolean is_optional; /* the file may be omitted if no step can be traced; it is in the run's folder */
  gboolean is_written;
  gint64 at;       /* the number of that step; 0: not decided yet */
  gboolean wanted; /* record the next step, on all ranks; set on rank 0 or a single rank */
  gboolean active; /* this one is */
  gint64 begin;
  GArray *spans; /* LoomExecSpan of one run of a plan */
  GArray *lanes; /* LoomTraceSpan */
  char *text;    /* the newest trace, on rank 0; NULL: none yet */
} StepTrace;

void step_trace_clear (StepTrace *self);
/* Call when a run begins after `step` steps and ends after `last`: chooses the step to write to the file, one after a
 * few warm-up steps, or the last one. */
void step_trace_choose (StepTrace *self, gint64 step, gint64 last);
/* TRUE if the step with this number is recorded. */
gboolean step_trace_is_due (const StepTrace *self, gint64 step);
/* Begins the step with this number; decides whether it is recorded. */
void step_trace_begin (StepTrace *self, gint64 step);
/* loom_exec_run() in a recorded step. */
gboolean step_trace_run (StepTrace *self, LoomExec *exec, GError **error);
/* Ends such a step, on all ranks. files: the run's folder, or NULL. */
gboolean step_trace_end (StepTrace *self, gint64 step, LoomFolder *files, GError **error);
/* Returns the newest trace as text, and requests one of the next step. */
const char *step_trace_text (StepTrace *self);
