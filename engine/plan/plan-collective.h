/* The kernel of a collective, as the files that make its calls share it. */
#pragma once

#include "engine/plan/plan-lane.h"
#include "engine/plan/plan-link.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

typedef struct _Collective Collective;
struct _Collective
{
  LoomKernel base;
  LoomStatus (*exchange) (Collective *c, void *const *buffers, LoomMessage *message);
  LoomComm *comm;
  const LoomPlanDevice *device; /* in whose memory the values lie; NULL: in the host's */
  PlanLink *link;               /* of the device, from the first run() on */
  LoomEvent *ready, *over;      /* the values to exchange are there; they are exchanged */
  gboolean may_go_by_host;      /* where there is no link */
  gboolean goes_by_host;        /* there is none */
  int meeting;                  /* of a transfer, as LoomTransferAttrs has it */
  Collective *first, *last;     /* of those that go as one; itself */
  PlanLane *lane;               /* which makes the calls; NULL: they are made at once */
  PlanJob job;
  void *const *buffers; /* of the job */
  gboolean goes_ahead;  /* somebody else waits for the job, or for what is over */
  LoomDType dtype;
  LoomReduceOp op;
  guint n;             /* values */
  gint64 *count;       /* elements of each, whole */
  gint64 packed;       /* elements of all that are exchanged together */
  gint64 *by_rank;     /* each rank's part of what is exchanged: elements or bytes */
  int peer, tag;       /* of what goes to one rank or comes from one */
  gsize bytes;         /* of that */
  gboolean only_gives; /* nothing comes */
  void *letter;        /* of what goes by way of the host, page-locked where there is such memory */
  char *name;
};

/* ---- plan-collective-device.c ---------------------------------------------- */

/* The kernel's run(), and what waits for it in front of the first that reads what is exchanged. */
LoomStatus
plan_collective_run_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
LoomStatus plan_collective_wait_on_device (const Collective *c, LoomStream *stream, LoomMessage *message);
void plan_collective_leave_device (Collective *c);

G_END_DECLS
