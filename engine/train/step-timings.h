/* Where the time of a step goes: its batch, the computation, and the rest between two steps.
 *
 * The clock is read four times a step if steps are long. Short ones would pay for that, so that after the first ones
 * every 16th is measured. The very first is left out: it makes the plan and the first batch. */
#pragma once

#include "engine/train/loom-train-events.h"

G_BEGIN_DECLS

/* Times in µs. */
typedef struct
{
  gboolean begun, timed;                /* a step was begun; this one is measured */
  gint64 start, mark, data, compute;    /* of this step */
  gint64 n, all, all_data, all_compute; /* steps that were measured, and their sums */
} StepTimings;

/* A step begins: the one after `step` steps of the run. */
void step_timings_begin (StepTimings *self, gint64 step, gboolean is_long);
/* Adds the time since the last mark to data or compute. What is in neither is the rest. */
void step_timings_mark (StepTimings *self, gint64 *kind);
void step_timings_end (StepTimings *self);
/* Means so far, threads apart. */
void step_timings_values (const StepTimings *self, LoomTrainerWaits *waits);

G_END_DECLS
