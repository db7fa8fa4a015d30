/* Prints what the worker of a run reports, until the run ends or the user leaves it. */
#pragma once

#include "app/worker-link.h"

G_BEGIN_DECLS

/* Follows the run; stop: asks it to stop first. Returns the exit status: 0 if the run is done, was stopped or goes on
 * without this command, else that of its error. folder: as the user has named the run. */
int attach_view_follow (const Command *command, WorkerLink *link, const char *folder, gboolean stop, gboolean json);

G_END_DECLS
