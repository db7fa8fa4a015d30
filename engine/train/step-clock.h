/* The rate of a run and the time that it still needs.
 *
 * The clock is read about a thousand times a second however short a step is: reading it costs as much as a small step's
 * bookkeeping. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Times in µs. */
typedef struct
{
  gint64 next_step, stride; /* when it is read next, and the number of steps between two readings */
  gint64 start_time, last_time;
  double items_since, items_per_second, eta_seconds;
} StepClock;

/* A run begins after `step` steps. */
void step_clock_start (StepClock *self, gint64 step);
/* A step with `items` samples is over. */
void step_clock_count (StepClock *self, double items);
/* Reads the clock and returns it. left: the samples until the run ends. */
gint64 step_clock_read (StepClock *self, gint64 step, double left);
/* The run stood still after `step` steps: that time belongs to no step, and neither do those since the last reading. */
void step_clock_resume (StepClock *self, gint64 step);
/* The end of an epoch took `elapsed`, which belongs to no step. The steps since the last reading still count: an epoch
 * may be shorter than the time between two readings. */
void step_clock_skip (StepClock *self, gint64 elapsed);

G_END_DECLS
