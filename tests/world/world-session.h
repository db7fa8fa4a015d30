/* A session: a small run that is begun, killed, resumed and inspected, on one seed. */
#pragma once

#include "tests/world/world-disk.h"

/* The undisturbed run, with which all others are compared; once, before any session. */
void world_session_init (void);
/* The name of what a seed runs: of a strategy, "journal", "queue" … */
const char *world_session_kind (guint64 seed);
/* The faults of a seed, drawn from it. Returns their number. */
int world_session_faults (guint64 seed, WorldFault faults[WORLD_MOST_FAULTS]);
/* Runs a session with these faults. NULL: all that was promised holds; else what does not. (transfer full) *n_met: the
 * number of faults that had an effect. */
char *world_session_run (guint64 seed, const WorldFault *faults, int n, int *n_met);
