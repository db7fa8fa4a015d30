/* The communicator of ranks for what lies in a device's memory, with the stream on which its calls are enqueued. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

typedef struct
{
  LoomComm *comm; /* NULL: these ranks can have none, on all of them */
  LoomStream *stream;
  LoomMessage why_not;
} PlanLink;

/* One for each device and ranks, shared while anybody has it. All ranks ask together, since the first one is made
 * together. NULL with a message. */
PlanLink *plan_link_get (const LoomPlanDevice *device, LoomComm *ranks, LoomMessage *message);
void plan_link_put_back (PlanLink *link);

G_END_DECLS
