/* The parts of a step's time: waiting for its batch, the computation, and the rest between two steps.
 *
 * The clock is read four times per step if steps are long. For short steps that would cost too much, so after the first
 * ones every 16th is measured. The very first is not counted, because it makes the plan and the first batch. */
#pragma once

#include "engine/train/loom-train-events.h"

/* Times in µs. */
typedef struct
{
  gboolean begun, timed;                /* a step has begun; this one is measured */
  gint64 start, mark, data, compute;    /* of this step */
  gint64 n, all, all_data, all_compute; /* number of measured steps, and their sums */
} StepTimings;

/* Begins the step after `step` steps of the run. */
void step_timings_begin (StepTimings *self, gint64 step, gboolean is_long);
/* Adds the time since the last mark to data or compute. All other time is the rest. */
void step_timings_mark (StepTimings *self, gint64 *kind);
void step_timings_end (StepTimings *self);
/* The means so far, except for threads. */
void step_timings_values (const StepTimings *self, LoomTrainerWaits *waits);
