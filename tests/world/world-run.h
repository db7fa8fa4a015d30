/* The run in a folder of the simulated disk, and whether it is the one that is expected. */
#pragma once

#include "tests/world/world-disk.h"

/* The run that is looked at, and what it should be. */
extern const char *world_run_path;
extern const WorldReport *world_run_expected;
void world_run_look (const char *path, const WorldReport *expected);

/* Of the checkpoint of a step; 0: it is not complete. */
guint64 world_run_hash (gint64 step);
/* The newest checkpoint that has the bits of its step; -1: none. A complete one with other bits is *wrong. */
gint64 world_run_newest (gint64 *wrong);
/* The step of one of the checkpoints; 0: there is none. */
gint64 world_run_draw (guint64 drawn);
/* (transfer full) NULL: there are none. */
char *world_run_events (void);
/* The line of a step in the events, up to its rate. FALSE: it has none. */
gboolean world_run_line (const char *events, gint64 step, char line[160]);
/* NULL: all that was acknowledged is there. (transfer full) */
char *world_run_check (gint64 acknowledged);
