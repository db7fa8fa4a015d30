/* States of a run in memory, from which steps are computed again without reading the disk.
 *
 * While a run trains, they are evenly spaced between the checkpoints of its history (history.h). While it shows earlier
 * steps, those that were passed on the way are kept in addition, so that steps close to one that was shown come at
 * once. */
#pragma once

#include "engine/train/history.h"
#include "engine/train/run-state.h"

G_BEGIN_DECLS

#define MOMENTS_BUDGET 256000000 /* bytes, at most a sixteenth of the machine's memory */

/* The state after a step. */
typedef struct
{
  gint64 step;
  char *text;       /* as of state.json */
  GPtrArray *value; /* LoomTensor by slot */
  gint64 bytes;
} Moment;

typedef struct
{
  History history;    /* which of them are kept */
  GPtrArray *moment;  /* Moment, those of history.steps, ascending */
  GPtrArray *visited; /* Moment, the newest last */
  gint64 visited_bytes;
} Moments;

/* NULL: memory is not sufficient. */
Moment *moment_new (const RunState *run, const TrainProgress *progress);
void moment_free (Moment *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Moment, moment_free)
/* Makes the run's state and progress those of the moment. */
gboolean moment_restore (const Moment *self, const RunState *run, TrainProgress *progress, GError **error);

/* budget: bytes; 0: none are kept. */
void moments_init (Moments *self, gint64 budget);
void moments_clear (Moments *self);
/* Call when a run begins, with the slots of its history on the disk: as many moments as fit evenly between two. */
void moments_begin (Moments *self, const History *disk, gint64 total);
/* TRUE if the budget has one of this state. */
gboolean moments_fit (Moments *self, LoomState *state);
/* Keeps the state between two steps, if it is wanted. */
void moments_keep (Moments *self, const RunState *run, const TrainProgress *progress);
/* Keeps one that was passed on the way to an earlier step, instead of the oldest such ones. */
void moments_visit (Moments *self, const RunState *run, const TrainProgress *progress);
/* The nearest at or before a step; NULL: none. */
const Moment *moments_find (const Moments *self, gint64 step);

G_END_DECLS
