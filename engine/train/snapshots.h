/* Values and gradients of ports, for observers, without an effect on the run.
 *
 * Everything that observers show of a step is from before its update: the reported loss, the values and gradients of
 * the ports, the weights (watched_state_of_step()). Ports are computed by a separate plan, unfused and in evaluation
 * mode, over the same state and on a fixed batch, so the training plan stays fused, nothing is committed and no random
 * number is drawn. One plan computes all recently requested ports, because a view sends ten requests a second, and
 * several views may do so between the same two steps. */
#pragma once

#include "engine/train/step-plan.h"
#include "engine/train/watched-state.h"

typedef struct _Snapshots Snapshots;

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  WatchedState *watched;
  void (*made) (gpointer data); /* called after replanning; may be NULL */
  gpointer made_data;
} SnapshotOwner;

/* Plans a program without fusion over a copy of the state, and feeds it a sample (a LoomTensor for each port of the
 * data set), which must outlive the executor. Errors: those of planning, and of watched_state_get(). */
LoomExec *snapshot_exec_new (const SnapshotOwner *owner, LoomProgram *program, const GPtrArray *sample, StateCopy *of,
                             GError **error);

Snapshots *snapshots_new (const SnapshotOwner *owner, GError **error);
void snapshots_free (Snapshots *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Snapshots, snapshots_free)
/* Begins a round: later requests see the current state; several between two steps share a run of the plan. self may be
 * NULL. */
void snapshots_begin_round (Snapshots *self);
/* The value of a port of the net on the fixed batch, or "grad:PORT": its gradient, or that of a weight. Errors: PORT,
 * and those of planning. (transfer full) */
LoomTensor *snapshots_value (Snapshots *self, StateCopy *of, const char *name, GError **error);
/* The executor that computes the ports, and the state that it reads; NULL: none. self may be NULL. */
LoomExec *snapshots_exec (const Snapshots *self, const StateCopy **of);
/* The net for the fixed batch, and the batch: a LoomTensor for each port of the data set. */
const LoomNet *snapshots_net (const Snapshots *self);
const GPtrArray *snapshots_sample (const Snapshots *self);
gint64 snapshots_n_samples (const Snapshots *self); /* in the batch; 0: of a graph without data */
