/* The lane of a plan that carries communication: a thread that makes the calls of the plan's collectives, in the order
 * in which they come, while the plan's own thread goes on computing until it needs what is exchanged. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

typedef struct _PlanLane PlanLane;

/* A call, and what became of it. */
typedef struct
{
  LoomStatus (*run) (gpointer data, LoomMessage *message);
  gpointer data;
  gboolean waiting; /* it was posted, and nobody has waited for it */
  gboolean done;
  LoomStatus status;
  LoomMessage message;
} PlanJob;

PlanLane *plan_lane_new (void);
PlanLane *plan_lane_ref (PlanLane *lane);
void plan_lane_unref (PlanLane *lane);
/* The job must live until plan_lane_wait(). */
void plan_lane_post (PlanLane *lane, PlanJob *job);
/* Returns when it is done, at once where it was not posted. */
LoomStatus plan_lane_wait (PlanLane *lane, PlanJob *job, LoomMessage *message);

/* ---- plan-collective.c --------------------------------------------------- */

/* Waits for a call that a step which failed has left under way; nothing where the kernel is no collective. */
void plan_collective_settle (LoomKernel *kernel);
/* Whether the host waits for the device in a collective's call. */
gboolean plan_collective_waits (const LoomKernel *kernel);
/* From here on the kernel's calls are made by the lane; run() then waits for the end or, where it goes ahead, leaves
 * that to the other kernel, which may be asked for once. */
void plan_collective_set_lane (LoomKernel *kernel, PlanLane *lane);
LoomKernel *plan_collective_go_ahead (LoomKernel *kernel);

G_END_DECLS
