/* Explains why a step has failed: its number, and if its numbers are not finite, where they arose. */
#pragma once

#include "engine/train/nan-search.h"
#include "engine/train/step-log.h"

typedef struct
{
  NanSearch search;
  StepLog *log;
  NanPlace place; /* where it failed */
  gint64 step;    /* its number if its loss is not finite; 0: none */
  double loss, lr, grad_norm;
} StepFailure;

/* Also if the failed step is repeated, so that a later failure is not explained by this one. */
void step_failure_clear (StepFailure *self);
/* The curve gets a failed step with a loss that is not finite as its last point. Call when the run has failed. */
void step_failure_report (StepFailure *self);
/* A batch has failed, and nothing of it was written; it is still the plan's input. Frees the cause. Always returns
 * FALSE. */
gboolean step_failure_of_batch (StepFailure *self, StepPlan *plan, const LoomBatch *batch, double lr, GError *cause,
                                GError **error);
/* The update from accumulated batches has failed. Frees the cause. Always returns FALSE. */
gboolean step_failure_of_update (const StepFailure *self, GError *cause, GError **error);
