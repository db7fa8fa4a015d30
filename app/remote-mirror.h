/* The mirror of a run that trains on a host: the graph, run.json, the events as far as they have come, and the weights
 * when the run has ended. */
#pragma once

#include "app/remote-stream.h"

/* Writes graph and settings into a folder, as of a run that begins. Errors: IO. */
gboolean remote_mirror_make (const char *folder, LoomGraph *graph, GError **error);
/* TRUE: it was made of this graph. */
gboolean remote_mirror_is_of (const char *folder, LoomGraph *graph);
/* Removes what was made, and the folder if nothing else is in it. */
void remote_mirror_unmake (const char *folder);

/* Gets what is missing. Returns REMOTE_TRAINING, or how the run has ended, which is noted in the mirror: "done",
 * "stopped", "failed SENTENCE", "killed LINE" if its process was killed, "gone" if the host has no such run.
 * NULL with an error: IO. (transfer full) */
char *remote_mirror_update (const char *folder, const char *host_name, const char *id, GError **error);
/* The same, but stays connected and gets events as they come, until the run has ended there. Ends early with an error
 * if another process has updated the mirror meanwhile, or the connection is lost. */
char *remote_mirror_follow (const char *folder, const char *host_name, const char *id, GError **error);
/* A sentence about an end that is a fault; NULL: it is none. (transfer full) */
char *remote_mirror_dup_fault (const char *host_name, const char *state);
