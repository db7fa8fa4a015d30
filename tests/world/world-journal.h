/* A session of Studio's journal: edits that are committed, synchronised, and recovered after crashes. */
#pragma once

#include "tests/world/world-disk.h"

/* In a child: edits, and recovers what an earlier life has left. The exit status; 3: something is wrong, as report
 * says. */
int world_journal_live (guint64 seed, int life);
/* NULL: everything that was synchronised is on the disk; else what is not. (transfer full) */
char *world_journal_check (void);
