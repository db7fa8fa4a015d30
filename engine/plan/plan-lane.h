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
  gint64 begin, end; /* when it was made, nanoseconds of the monotonic clock */
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
/* Whether the host waits for the device in a collective's call; known behind the first. FALSE of other kernels. */
gboolean plan_collective_waits (const LoomKernel *kernel);
/* As loom_plan_why_by_host(). */
const char *plan_collective_why_by_host (const LoomKernel *kernel);
/* From here on the kernel's calls are made by the lane; run() then waits for the end or, where it goes ahead, leaves
 * that to the other kernel, which may be asked for once. */
void plan_collective_set_lane (LoomKernel *kernel, PlanLane *lane);
LoomKernel *plan_collective_go_ahead (LoomKernel *kernel);

/* ---- plan-collective-device.c ---------------------------------------------- */

/* Behind which slot of a pipeline's schedule a transfer between devices is made, from 1 on; 0 of any other kernel. */
int plan_collective_meeting (const LoomKernel *kernel);
/* Calls that follow one another, from the first to the last, go as one. */
void plan_collective_join (LoomKernel *kernel, LoomKernel *first, LoomKernel *last);

G_END_DECLS
