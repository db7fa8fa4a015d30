/* The rate of a run and its remaining time.
 *
 * The clock is read about a thousand times a second, however short a step is, because reading it costs as much as a
 * small step's bookkeeping. */
#pragma once

#include <glib.h>

/* Times in µs. */
typedef struct
{
  gint64 next_step, stride; /* the step of the next reading, and the number of steps between readings */
  gint64 start_time, last_time;
  double items_since, items_per_second, eta_seconds;
} StepClock;

/* Call when a run begins, after `step` steps. */
void step_clock_start (StepClock *self, gint64 step);
/* Counts a step with `items` samples. */
void step_clock_count (StepClock *self, double items);
/* Reads the clock and returns it. left: the samples until the run ends. */
gint64 step_clock_read (StepClock *self, gint64 step, double left);
/* Call after a pause following `step` steps: its time and the steps since the last reading are not counted. */
void step_clock_resume (StepClock *self, gint64 step);
/* Call after the end of an epoch, whose `elapsed` time is not counted. The steps since the last reading still are,
 * because an epoch may be shorter than the time between two readings. */
void step_clock_skip (StepClock *self, gint64 elapsed);
