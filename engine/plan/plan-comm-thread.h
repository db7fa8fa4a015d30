/* A plan's communication thread: makes the calls of the plan's collectives in the order in which they are posted, while
 * the plan's own thread computes until it needs a result. */
#pragma once

#include "engine/plan/loom-plan.h"

typedef struct _PlanCommThread PlanCommThread;

/* A call and its result. */
typedef struct
{
  LoomStatus (*run) (gpointer data, LoomMessage *message);
  gpointer data;
  gboolean is_pending; /* posted, and plan_comm_thread_wait() was not called yet */
  gboolean done;
  gint64 begin, end; /* of the call: nanoseconds of the monotonic clock */
  LoomStatus status;
  LoomMessage message;
} PlanCommJob;

PlanCommThread *plan_comm_thread_new (void);
PlanCommThread *plan_comm_thread_ref (PlanCommThread *lane);
void plan_comm_thread_unref (PlanCommThread *lane);
/* Appends a job, which must live until plan_comm_thread_wait(). */
void plan_comm_thread_post (PlanCommThread *lane, PlanCommJob *job);
/* Waits until a job is finished and returns its status; OK at once if it is not pending. */
LoomStatus plan_comm_thread_wait (PlanCommThread *lane, PlanCommJob *job, LoomMessage *message);
