/* The tracks of one step: the time that each instruction took on every rank, and where a rank waited for the others. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/train/loom-trace.h"
#include "engine/train/rank-group.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  char *path;           /* of the file that one step is written to; NULL: none is */
  gboolean is_optional; /* none may be written if there is no such step; it belongs to the run's folder */
  gboolean is_written;
  gint64 at;       /* that step; 0: not decided yet */
  gboolean wanted; /* the next step is to be recorded, on all ranks; set on rank 0 or the only one */
  gboolean active; /* this one is */
  gint64 begin;
  GArray *spans; /* LoomExecSpan of one run of a plan */
  GArray *lanes; /* LoomTraceSpan */
  char *text;    /* the newest trace, on rank 0; NULL: there is none yet */
} StepTrace;

void step_trace_clear (StepTrace *self);
/* A run begins after `step` steps, and ends after `last`: chooses the step that goes to the file, one after some that
 * warm up, or the last one. */
void step_trace_choose (StepTrace *self, gint64 step, gint64 last);
/* TRUE if the step of this number is to be recorded. */
gboolean step_trace_is_due (const StepTrace *self, gint64 step);
/* The step of this number begins; decides whether it is recorded. */
void step_trace_begin (StepTrace *self, gint64 step);
/* loom_exec_run() in a step that is recorded. */
gboolean step_trace_run (StepTrace *self, LoomExec *exec, GError **error);
/* Such a step has ended, on all ranks. files: the run's folder, or NULL. */
gboolean step_trace_end (StepTrace *self, gint64 step, LoomFolder *files, GError **error);
/* The newest trace as text, and a wish for the next. */
const char *step_trace_text (StepTrace *self);

G_END_DECLS
