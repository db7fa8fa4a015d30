/* A plan's communication thread: makes the calls of the plan's collectives in the order in which they are posted, while
 * the plan's own thread computes until it needs a result. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

typedef struct _PlanLane PlanLane;

/* A call and its outcome. */
typedef struct
{
  LoomStatus (*run) (gpointer data, LoomMessage *message);
  gpointer data;
  gboolean waiting; /* posted, and not waited for yet */
  gboolean done;
  gint64 begin, end; /* when it ran, nanoseconds of the monotonic clock */
  LoomStatus status;
  LoomMessage message;
} PlanJob;

PlanLane *plan_lane_new (void);
PlanLane *plan_lane_ref (PlanLane *lane);
void plan_lane_unref (PlanLane *lane);
/* The job must live until plan_lane_wait(). */
void plan_lane_post (PlanLane *lane, PlanJob *job);
/* Returns when the job is done; at once if it was not posted. */
LoomStatus plan_lane_wait (PlanLane *lane, PlanJob *job, LoomMessage *message);

/* ---- plan-collective.c --------------------------------------------------- */

/* Waits for a call that a failed step has left running; does nothing if the kernel is no collective. */
void plan_collective_settle (LoomKernel *kernel);
/* TRUE if the host waits for the device in a collective's call, which is known after the first call. FALSE for other
 * kernels. */
gboolean plan_collective_waits (const LoomKernel *kernel);
/* See loom_plan_why_by_host(). */
const char *plan_collective_why_by_host (const LoomKernel *kernel);
/* Makes the lane run the kernel's calls. run() then waits for the end or, if it goes ahead, leaves that to the kernel
 * that waits for it, which can be requested once. */
void plan_collective_set_lane (LoomKernel *kernel, PlanLane *lane);
LoomKernel *plan_collective_go_ahead (LoomKernel *kernel);

/* ---- plan-collective-device.c ---------------------------------------------- */

/* The slot of a pipeline's schedule, from 1, after which a transfer between devices runs; 0 for other kernels. */
int plan_collective_meeting (const LoomKernel *kernel);
/* Makes one group of consecutive calls, from the first to the last. */
void plan_collective_join (LoomKernel *kernel, LoomKernel *first, LoomKernel *last);

G_END_DECLS
