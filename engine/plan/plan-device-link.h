/* A device link: the communicator of ranks for values in a device's memory, with its stream. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

typedef struct
{
  LoomComm *comm; /* NULL: these ranks cannot communicate through devices, which all of them know */
  LoomStream *stream;
  LoomMessage why_not;
} PlanLink;

/* The link of a device and its ranks, shared while in use. All ranks must call together, because the first call opens
 * it. NULL with a message. */
PlanLink *plan_link_get (const LoomPlanDevice *device, LoomComm *ranks, LoomMessage *message);
void plan_link_put_back (PlanLink *link);

G_END_DECLS
