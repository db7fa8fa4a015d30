/* Removes old runs and data files of other machines from a host, so that they do not only grow. */
#pragma once

#include <glib.h>

#define REMOTE_PRUNE_CONTENT_DAYS  30 /* without a run that names the file */
#define REMOTE_PRUNE_CONTENT_BYTES (G_GUINT64_CONSTANT (64) << 30)
#define REMOTE_PRUNE_RUN_DAYS      90 /* since the last event of a run */

/* Removes data files that no run has named for 30 days, then the oldest beyond 64 GiB, but none of the last day; and
 * runs that ended 90 days ago. */
void remote_prune (void);
