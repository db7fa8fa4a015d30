/* The state that observers see.
 *
 * If ranks have parts of the weights, or some of them none, as with ZeRO-3, split products and pipelines, no rank can
 * show them by itself: when an observer queries rank 0, or pauses the run, all ranks put their parts together before
 * the next step, and rank 0 keeps a copy that is whole. What cannot be copied is reported to the caller, and does not
 * end the run.
 *
 * A run that stands still shows one step: its loss, its values and its gradients, all from before its update. The
 * update overwrites the weights, so a run that is shown keeps a copy of them before each step after which it may stand
 * still: a single step, the step that a pause or a stop waits for, the last step, and the last of an epoch that ends
 * with an evaluation or may end the run early. Runs of several ranks show the state after the step. */
#pragma once

#include "engine/train/progress.h"

G_BEGIN_DECLS

/* A copy of the state, and what is computed over it. */
typedef struct
{
  GHashTable *value;  /* LoomTensor by slot, of rank 0; present on all ranks, NULL: it was not copied */
  gint64 step, epoch; /* after which the values are so */
  LoomState *state;   /* over which observers compute, of these values; NULL: nothing is computed */
  char *why_not;      /* it could not be made of them; NULL: it could */
} StateCopy;

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  const TrainProgress *progress;
  gboolean is_shown;   /* the run has an observer of its memory */
  StateCopy now, last; /* last: the state that the last step was computed with */
} WatchedState;

void
watched_state_init (WatchedState *self, const TrainModel *model, const RankGroup *group, const TrainProgress *progress);
void watched_state_clear (WatchedState *self);
/* A run begins: before its first step nothing is kept, and it may pause. */
void watched_state_begin (WatchedState *self);
/* TRUE if observers see a copy, because ranks have parts of the weights. */
gboolean watched_state_is_copy (const WatchedState *self);
/* TRUE if the copy, if there is to be one, is that of the state as it is. Ranks other than the first never wait for
 * one: they report that they have only a part. */
gboolean watched_state_is_ready (const WatchedState *self);
/* FALSE: the next step keeps first the state that it is computed with. stops: the run is to end. */
gboolean watched_state_can_stand (const WatchedState *self, gboolean stops);
/* Ranks put their parts together; a call of all ranks. An exchange that fails ends the run, on all ranks. */
gboolean watched_state_gather (WatchedState *self, GError **error);
/* TRUE if steps after which the run may stand still are to be preceded by watched_state_keep(). */
gboolean watched_state_keeps (const WatchedState *self);
/* Before a step: keeps the state that it is computed with. If the memory does not suffice for the copy, observers see
 * the state after the step. */
void watched_state_keep (WatchedState *self);
/* The run has ended as it should, on all ranks: if it is shown, or a request needs its state (is_wanted), it is shown
 * as it ended. */
void watched_state_end (WatchedState *self, gboolean is_wanted);
/* While the run stands still: the state that the last step was computed with, to which its loss and its gradients
 * belong. Else the state as it is, with which the next step is computed. */
StateCopy *watched_state_of_step (WatchedState *self, gboolean stands);
/* The copy of the last step does not fit into memory together with what is computed over it. */
void watched_state_drop_last (WatchedState *self);

/* For `now` the run's own state, or the copy. SHAPE if there is none yet, OUT_OF_MEMORY if it could not be made. */
LoomState *watched_state_get (WatchedState *self, StateCopy *copy, GError **error);
/* After all slots are declared there. */
gboolean watched_state_fill (WatchedState *self, StateCopy *copy, GError **error);
/* Before each computation over it: learning rates and such may have been set since. */
void watched_state_fill_scalars (WatchedState *self, StateCopy *copy);
/* A slot, whole. (transfer full) */
LoomTensor *watched_state_slot (WatchedState *self, StateCopy *copy, const char *name, GError **error);
/* The number of updates that the state of a request has taken, and the epoch of the last. */
gint64 watched_state_step (const WatchedState *self, const StateCopy *copy, gboolean needs_state);
gint64 watched_state_epoch (const WatchedState *self);
/* Adds the memory of the copies. */
void watched_state_memory (const WatchedState *self, gsize bytes[LOOM_N_OWNERS]);

G_END_DECLS
