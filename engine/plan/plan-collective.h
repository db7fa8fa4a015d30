/* The kernel of a collective, shared by the two files that implement it. What other files call is declared in
 * plan-private.h (plan_collective_new()) and in plan-comm-thread.h. */
#pragma once

#include "engine/plan/plan-comm-thread.h"
#include "engine/plan/plan-device-link.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

typedef struct _Collective Collective;
struct _Collective
{
  LoomKernel base;
  LoomStatus (*exchange) (Collective *c, void *const *buffers, LoomMessage *message);
  LoomComm *comm;
  const LoomPlanDevice *device; /* the device that holds the values; NULL: the host */
  PlanLink *link;               /* of the device, after the first run() */
  LoomEvent *ready, *over;      /* the operands are ready; the exchange is finished */
  gboolean can_go_via_host;     /* if there is no link */
  gboolean is_via_host;         /* there is no link */
  int exchange_slot;            /* of a transfer, see LoomTransferAttrs */
  Collective *first, *last;     /* of the transfers of one group; itself */
  PlanCommThread *lane;         /* the thread that makes the calls; NULL: the caller's */
  PlanCommJob job;
  void *const *buffers; /* of the job */
  gboolean is_async;    /* another kernel waits for the job or for `over` */
  LoomDType dtype;
  LoomReduceOp op;
  guint n;             /* values */
  gint64 *count;       /* elements of each, unsharded */
  gint64 packed;       /* elements of all values that are exchanged together */
  gint64 *by_rank;     /* each rank's part of the exchange: elements or bytes */
  int peer, tag;       /* of a transfer with one rank */
  gsize bytes;         /* of the transfer */
  gboolean is_send_only; /* nothing is received */
  void *host_buffer;     /* the host buffer of an exchange through the host, page-locked if possible */
  char *name;
};

/* ---- plan-collective-device.c ---------------------------------------------- */

/* run() of the kernel, and of the kernel that waits for it before the first reader. */
LoomStatus
plan_collective_run_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
LoomStatus plan_collective_wait_on_device (const Collective *c, LoomStream *stream, LoomMessage *message);
void plan_collective_close_device (Collective *c);

G_END_DECLS
