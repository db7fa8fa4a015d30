/* Values and gradients of ports, for observers, which a run does not notice.
 *
 * All that observers show of a step is from before its update: the loss that the step reports, the values and gradients
 * of the ports, the weights (watched_state_of_step()).
 *
 * Ports are computed by a plan of their own, unfused and in evaluation mode, over the same state and on a fixed sample,
 * so the training plan stays fused, nothing is committed and no random number is drawn. One plan computes all ports
 * that were requested lately, because a view requests ten times a second, and several views may between the same two
 * steps. */
#pragma once

#include "engine/train/step-plan.h"
#include "engine/train/watched-state.h"

G_BEGIN_DECLS

typedef struct _Snapshots Snapshots;

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  WatchedState *watched;
  void (*made) (gpointer data); /* another plan is live; may be NULL */
  gpointer made_data;
} SnapshotOwner;

Snapshots *snapshots_new (const SnapshotOwner *owner, GError **error);
void snapshots_free (Snapshots *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Snapshots, snapshots_free)
/* Requests from here on see the state as it is now; several between two steps share a run of the plan. self may be
 * NULL. */
void snapshots_begin_round (Snapshots *self);
/* The value of a port of the net on the fixed sample, "grad:PORT": its gradient, or that of a weight. Errors: PORT, and
 * those of planning. (transfer full) */
LoomTensor *snapshots_value (Snapshots *self, StateCopy *of, const char *name, GError **error);
/* That computes the ports, and the state that it computes over; NULL: there is none. self may be NULL. */
LoomExec *snapshots_exec (const Snapshots *self, const StateCopy **of);
/* The net for the fixed sample, and the sample: LoomTensor for each port of the data set. */
const LoomNet *snapshots_net (const Snapshots *self);
const GPtrArray *snapshots_sample (const Snapshots *self);

G_END_DECLS
