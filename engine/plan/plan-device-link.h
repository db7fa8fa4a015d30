/* A device link: the communicator of ranks for values in a device's memory, with its stream. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "kernels/comm.h"

typedef struct
{
  LoomComm *comm; /* NULL: the ranks cannot communicate through devices; this is the same on all ranks */
  LoomStream *stream;
  LoomMessage why_not;
} PlanLink;

/* The link of a device and its ranks, shared by all plans that use it. All ranks must call together, because the first
 * call opens the link. NULL with a message on failure. */
PlanLink *plan_link_get (const LoomPlanDevice *device, LoomComm *ranks, LoomMessage *message);
void plan_link_put_back (PlanLink *link);
