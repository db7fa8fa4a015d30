/* A plan's communication thread: makes the calls of the plan's collectives in the order in which they are posted, while
 * the plan's own thread computes until it needs a result.
 *
 * This header also declares the functions of a collective's kernel that the planner uses after making it
 * (plan-collective.c, plan-collective-device.c): they assign the kernel to the thread or to a group, or split off the
 * wait. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

typedef struct _PlanCommThread PlanCommThread;

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
} PlanCommJob;

PlanCommThread *plan_comm_thread_new (void);
PlanCommThread *plan_comm_thread_ref (PlanCommThread *lane);
void plan_comm_thread_unref (PlanCommThread *lane);
/* The job must live until plan_comm_thread_wait(). */
void plan_comm_thread_post (PlanCommThread *lane, PlanCommJob *job);
/* Returns when the job is done; at once if it was not posted. */
LoomStatus plan_comm_thread_wait (PlanCommThread *lane, PlanCommJob *job, LoomMessage *message);

/* ---- plan-collective.c --------------------------------------------------- */

/* Waits for a call that a failed step has left running; does nothing if the kernel is no collective. */
void plan_collective_drain (LoomKernel *kernel);
/* TRUE if the host waits for the device in a collective's call, which is known after the first call. FALSE for other
 * kernels. */
gboolean plan_collective_syncs_host (const LoomKernel *kernel);
/* See loom_plan_why_via_host(). */
const char *plan_collective_why_via_host (const LoomKernel *kernel);
/* Makes the lane run the kernel's calls. run() then waits for the end or, if it goes ahead, leaves that to the kernel
 * that waits for it, which can be requested once. */
void plan_collective_set_lane (LoomKernel *kernel, PlanCommThread *lane);
LoomKernel *plan_collective_make_async (LoomKernel *kernel);

/* ---- plan-collective-device.c ---------------------------------------------- */

/* The slot of a pipeline's schedule, from 1, after which a transfer between devices runs; 0 for other kernels. */
int plan_collective_exchange_slot (const LoomKernel *kernel);
/* Makes one group of consecutive calls, from the first to the last. */
void plan_collective_set_group (LoomKernel *kernel, LoomKernel *first, LoomKernel *last);

G_END_DECLS
