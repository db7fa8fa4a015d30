/* Requests of other threads for a walk of the next step (step-walk.h): each waits in the inbox until the computing
 * thread serves it between two steps. Errors: USAGE if no walk has begun, and those of the walk. */
#pragma once

#include "engine/core/loom-summary.h"
#include "engine/train/inbox.h"
#include "engine/infer/loom-derivative.h"
#include "engine/train/loom-walk-command.h"
#include "engine/train/step-walk.h"

/* Begins or moves the walk. *step is the number of the walked step, from 1. USAGE before an update of several ranks. */
gboolean walk_requests_command (Inbox *inbox, StepWalk *walk, const LoomWalkCommand *command, LoomStepperPlace *place,
                                gint64 *step, GError **error);
void walk_requests_end (Inbox *inbox, StepWalk *walk);
/* Summarises n ports in value [n]. A port that is not known has an empty summary. */
gboolean walk_requests_values (Inbox *inbox, StepWalk *walk, guint n, const char *const *port, LoomPortSummary *value,
                               GError **error);
/* step_walk_port() on the computing thread. (transfer full) */
LoomTensor *walk_requests_port (Inbox *inbox, StepWalk *walk, const char *port, double *scale, GError **error);
/* derivative_chain_new() on the computing thread. (transfer full) */
GArray *walk_requests_derivatives (Inbox *inbox, StepWalk *walk, const char *port, gint64 element, double *value,
                                   double *gradient, GError **error);
