/* Counts finished steps in the progress, the figures of the last steps, the clock and the events; and reports them. */
#pragma once

#include "engine/train/checkpoints.h"
#include "engine/train/device-memory.h"
#include "engine/train/recent-steps.h"
#include "engine/train/step-clock.h"

typedef struct
{
  const TrainData *data;
  TrainProgress *progress;
  RunFolder *folder;
  Checkpoints *checkpoints;
  DeviceMemory *memory;
  void (*report) (const LoomTrainerStep *step, gpointer data); /* to the observer; may be NULL */
  gpointer report_data;

  const LoomTrainSpec *spec;
  RecentSteps recent;
  StepClock clock;
  const char **metric_name;
  double *metric_value; /* buffer for a report */
} StepLog;

/* The caller sets the fields before `spec`, and the progress has its metrics. step: the first planned one. */
void step_log_init (StepLog *self, const LoomTrainSpec *spec, const LoomStep *step);
void step_log_clear (StepLog *self);
/* Counts a step, whose loss is a mean over `samples`, and reads the clock if it is due. */
gboolean step_log_add (StepLog *self, double loss, double samples, double lr, GError **error);
/* Reports step `number`: the last one, or a failed one. */
void step_log_report (StepLog *self, gint64 number, double loss, double lr, double grad_norm);
/* The n values of the epoch's metrics so far; valid until the next report. */
const double *step_log_metrics (StepLog *self);
