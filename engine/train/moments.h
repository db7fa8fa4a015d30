/* States of a run in memory, from which steps are computed again without reading the disk.
 *
 * While a run trains, they are evenly spaced. While it shows earlier steps, those that were passed on the way are kept
 * in addition, so that steps close to one that was shown come at once. They are plain copies: packing one takes as long
 * as ten steps of fashion-lenet, and copying it less than one. */
#pragma once

#include "engine/train/history.h"
#include "engine/train/run-state.h"

#define MOMENTS_BUDGET 1500000000 /* bytes, at most a sixteenth of the machine's memory */

/* The state after a step. */
typedef struct
{
  gint64 step;
  char *text;       /* as of state.json */
  GPtrArray *value; /* of state_values() */
} Moment;

typedef struct
{
  const RunState *run;
  History history;    /* which of them are kept */
  GPtrArray *moment;  /* Moment, those of the history */
  GPtrArray *visited; /* Moment, the newest last */
  gint64 visited_bytes;
} Moments;

/* NULL: memory is not sufficient. */
Moment *moment_new (const RunState *run, const TrainProgress *progress);
void moment_free (Moment *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Moment, moment_free)

/* budget: bytes; 0: none are kept. */
void moments_init (Moments *self, const RunState *run, gint64 budget);
void moments_clear (Moments *self);
/* Call when a run of `total` steps begins. */
void moments_begin (Moments *self, gint64 total);
/* TRUE if the budget has one of this state. */
gboolean moments_fit (const Moments *self, LoomState *state);
/* Keeps the state between two steps, if it is wanted. */
void moments_keep (Moments *self, const TrainProgress *progress);
/* Keeps one that was passed on the way to an earlier step, instead of the oldest such ones. */
void moments_visit (Moments *self, const TrainProgress *progress);
/* The nearest at or before a step; NULL: none. */
const Moment *moments_find (const Moments *self, gint64 step);
/* Makes the run's state and progress those of the moment. */
gboolean moments_restore (Moments *self, const Moment *moment, TrainProgress *progress, GError **error);
