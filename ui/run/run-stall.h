/* Detects a run whose steps stall, words the sentence about it, and decides when a second Stop may end the run by
 * force.
 *
 * A rank that hangs makes all other ranks wait in a collective without an error, and the worker can pause or stop only
 * between steps. So the time since the last step is compared with the usual time of a step. */
#pragma once

#include <glib.h>

/* Times are monotonic. */
typedef struct
{
  gint64 step_at;                         /* of the last step; 0: not running */
  gint64 pause_requested, stop_requested; /* 0: not requested */
  double usual_gap, longest_gap;          /* seconds per step (a running mean), and the longest between two reports */
} RunStall;

/* Call it when training begins (runs) or pauses. */
void run_stall_note_running (RunStall *stall, gboolean runs);
/* Call it when steps have been computed; steps: their number, 0 or less for none. */
void run_stall_note_steps (RunStall *stall, gint64 steps);
/* The number of usual steps that may pass after this step before the next one is late. */
double run_stall_patience (gint64 step, gint64 total_steps, gint64 epochs);
#define RUN_STALL_FORCE_SECONDS 2 /* after which a second Stop ends a run with a late step */

/* TRUE if a second Stop may end the run by force: a step and its checkpoint can take long without a hang. */
gboolean run_stall_may_force (const RunStall *stall, double patience);
/* TRUE if no step has arrived for much longer than usual. */
gboolean run_stall_is_late (const RunStall *stall, double patience);
/* A sentence about a late step, or about Pause or Stop waiting for a step; NULL if there is none. */
char *run_stall_dup_sentence (const RunStall *stall, double patience, gboolean has_ranks);
