/* The weights and states that observers see: a complete copy where ranks have only shards, and the state of before the
 * last step while the run is paused.
 *
 * If ranks have shards of the weights, or some ranks have none (ZeRO-3, split products, pipelines), no rank can show
 * them alone: when an observer queries rank 0, or pauses the run, all ranks gather their shards before the next step,
 * and rank 0 keeps a complete copy. A copy that cannot be made is reported to the caller, and does not end the run.
 *
 * A paused run shows one step: its loss, its values and its gradients, all from before its update. The update
 * overwrites the weights, so a run with an observer keeps a copy of them before each step after which it may be paused:
 * a single step, the step that a pause or a stop waits for, the last step, and the last step of an epoch that ends with
 * an evaluation or may end the run early. Runs of several ranks show the state after the step. */
#pragma once

#include "engine/train/progress.h"

/* A copy of the state, and a state for computations with it. */
typedef struct
{
  GHashTable *value;  /* LoomTensor by slot, on rank 0; exists on all ranks; NULL: not copied */
  gint64 step, epoch; /* the step and epoch after which it was copied */
  LoomState *state;   /* the state with these values, over which observers compute; NULL: none */
  char *why_not;      /* the reason why it could not be made; NULL: it could */
} StateCopy;

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  const TrainProgress *progress;
  gboolean is_shown;   /* the run has an observer of its memory */
  StateCopy now, last; /* last: the state with which the last step was computed */
} WatchedState;

void
watched_state_init (WatchedState *self, const TrainModel *model, const RankGroup *group, const TrainProgress *progress);
void watched_state_clear (WatchedState *self);
/* Call when a run begins: before its first step there is no copy, and it may be paused. */
void watched_state_begin (WatchedState *self);
/* TRUE if observers see a copy, because ranks have shards of the weights. */
gboolean watched_state_is_copy (const WatchedState *self);
/* TRUE if the copy, if one is needed, is that of the current state. Ranks other than 0 do not wait for one: they report
 * that they have only a shard. */
gboolean watched_state_is_ready (const WatchedState *self);
/* FALSE: the next step first copies the state with which it is computed. stops: the run is about to end. */
gboolean watched_state_can_stand (const WatchedState *self, gboolean stops);
/* Gathers the shards; called by all ranks. A failed exchange ends the run, on all ranks. */
gboolean watched_state_gather (WatchedState *self, GError **error);
/* TRUE if watched_state_keep() must be called before steps after which the run may be paused. */
gboolean watched_state_keeps (const WatchedState *self);
/* Before a step: copies the state with which it is computed. If the memory is not sufficient, observers see the state
 * after the step. */
void watched_state_keep (WatchedState *self);
/* Call when the run has ended successfully, on all ranks: if it is observed, or a request needs its state (is_wanted),
 * its last state is shown. */
void watched_state_end (WatchedState *self, gboolean is_wanted);
/* During a pause: the state with which the last step was computed, which its loss and gradients belong to. Otherwise
 * the current state, with which the next step is computed. */
StateCopy *watched_state_of_step (WatchedState *self, gboolean is_paused);
/* Keeps the copy of the last step elsewhere while the run shows other steps, and brings it back. */
void watched_state_set_aside (WatchedState *self, StateCopy *aside);
void watched_state_put_back (WatchedState *self, StateCopy *aside);
/* The copy of the last step does not fit into memory together with the computations over it. */
void watched_state_drop_last (WatchedState *self);

/* Returns the run's own state for `now`, or the copy. SHAPE if there is none yet, OUT_OF_MEMORY if it could not be
 * made. */
LoomState *watched_state_get (WatchedState *self, StateCopy *copy, GError **error);
/* Call after all slots are declared there. */
gboolean watched_state_fill (WatchedState *self, StateCopy *copy, GError **error);
/* Call before each computation over it: scalars such as learning rates may have changed. */
gboolean watched_state_fill_scalars (WatchedState *self, StateCopy *copy, GError **error);
/* The whole value of a slot. (transfer full) */
LoomTensor *watched_state_slot (WatchedState *self, StateCopy *copy, const char *name, GError **error);
/* Copies of all weights and buffers of the current state, LoomNamedTensor: averages of weights in place of the weights
 * if there are any and there was a step, as in evaluations. (transfer full) */
GPtrArray *watched_state_weights (WatchedState *self, GError **error);
/* The number of updates of the state for a request, and the epoch of the last one. */
gint64 watched_state_step (const WatchedState *self, const StateCopy *copy, gboolean needs_state);
gint64 watched_state_epoch (const WatchedState *self);
/* Adds the memory of the copies. */
void watched_state_memory (const WatchedState *self, gsize bytes[LOOM_N_OWNERS]);
