/* Prints what the worker of a run reports, until the run ends or the user leaves it. */
#pragma once

#include "app/worker-link.h"

#define ATTACH_VIEW_ENDED 0    /* the run is done, or was stopped */
#define ATTACH_VIEW_LEFT  (-1) /* it goes on without this command */
#define ATTACH_VIEW_LOST  (-2) /* the connection has ended before the run */

/* Follows the run; stop: asks it to stop first. Returns one of these, or the exit status of the run's error. folder: as
 * the user has named the run. */
int attach_view_follow (const Command *command, WorkerLink *link, const char *folder, gboolean stop, gboolean json);
