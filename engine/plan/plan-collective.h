/* The kernels of collectives, for the planner. Functions make such a kernel, give its calls to the communication
 * thread, split it into a start and a wait, or put it into a group of transfers. plan-collective-private.h has the
 * struct. */
#pragma once

#include "engine/plan/plan-comm-thread.h"

/* ---- plan-collective.c --------------------------------------------------- */

/* The kernel of a collective on a device's values; NULL with a message. */
LoomKernel *plan_collective_new (const LoomMesh *mesh, const LoomPlanDevice *device, const LoomPrim *prim,
                                 const LoomKernelSpec *spec, LoomMessage *message);
/* Waits for a call that a failed step has left running; does nothing if the kernel is no collective. */
void plan_collective_drain (LoomKernel *kernel);
/* TRUE if the host waits for the device in a collective's call, which is known after the first call. FALSE for other
 * kernels. */
gboolean plan_collective_syncs_host (const LoomKernel *kernel);
/* See loom_plan_why_via_host(). */
const char *plan_collective_why_via_host (const LoomKernel *kernel);
/* Makes this communication thread run the kernel's calls; the kernel's run() still waits for the end. */
void plan_collective_set_lane (LoomKernel *kernel, PlanCommThread *lane);
/* Makes the kernel's run() return at once, and returns a kernel whose run() waits for the end. Call it at most once. */
LoomKernel *plan_collective_make_async (LoomKernel *kernel);

/* ---- plan-collective-device.c ---------------------------------------------- */

/* The slot of a pipeline's schedule, from 1, after which a transfer between devices runs; 0 for other kernels. */
int plan_collective_exchange_slot (const LoomKernel *kernel);
/* Makes the kernel a member of the group of transfers from `first` to `last`, which are consecutive. */
void plan_collective_set_group (LoomKernel *kernel, LoomKernel *first, LoomKernel *last);
