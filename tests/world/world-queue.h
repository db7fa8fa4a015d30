/* A session of the queue: runs that are added, claimed, and begun. */
#pragma once

#include "tests/world/world-disk.h"

/* In a child. The exit status; 3: something is wrong, as the report says. */
int world_queue_live (guint64 seed, int life);
/* NULL: each run that was added waits, or has begun; else which does not. (transfer full) */
char *world_queue_check (void);
