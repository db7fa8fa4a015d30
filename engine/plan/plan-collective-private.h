/* The struct of the kernel of a collective, shared by plan-collective.c (calls on the host) and
 * plan-collective-device.c (calls on a device). */
#pragma once

#include "engine/plan/plan-collective.h"
#include "engine/plan/plan-device-link.h"
#include "kernels/comm.h"

typedef struct _Collective Collective;
struct _Collective
{
  LoomKernel base;
  LoomStatus (*exchange) (Collective *c, void *const *buffers, LoomMessage *message);
  LoomComm *comm;
  const LoomPlanDevice *device; /* the device that has the values; NULL: the host */
  PlanLink *link;               /* the link of the device; NULL before the first run() */
  LoomEvent *ready, *over;      /* recorded when the operands are ready, when the exchange is finished */
  gboolean can_go_via_host;     /* the exchange may go through the host if there is no link */
  gboolean is_via_host;         /* it does, because there is no link */
  int exchange_slot;            /* of a transfer: see LoomTransferAttrs */
  Collective *first, *last;     /* the group of a transfer; without a group the kernel itself */
  PlanCommThread *lane;         /* the thread that makes the calls; NULL: the caller's */
  PlanCommJob job;
  void *const *buffers; /* arguments of the job */
  gboolean is_async;    /* another kernel waits for the job or for `over` */
  LoomDType dtype;
  LoomReduceOp op;
  guint n;               /* number of values */
  gint64 *count;         /* by value: elements, unsharded */
  gint64 packed;         /* elements of all values that are exchanged together */
  gint64 *by_rank;       /* by rank: the size of its shard, elements or bytes */
  int peer, tag;         /* of a transfer: the other rank, the tag */
  gsize bytes;           /* of a transfer */
  gboolean is_send_only; /* a transfer that receives nothing */
  void *host_buffer;     /* for exchanges through the host; page-locked if possible */
  char *name;
};

/* ---- plan-collective-device.c ---------------------------------------------- */

/* run() of the kernel, and of the kernel that waits for its end. */
LoomStatus
plan_collective_run_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
LoomStatus plan_collective_wait_on_device (const Collective *c, LoomStream *stream, LoomMessage *message);
void plan_collective_close_device (Collective *c);
