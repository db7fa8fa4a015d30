/* The table of the memory of each rank: planned bytes by owner, and in the run the bytes of its state, its plans and
 * its process. While the table is visible, values are requested every second; at other times StudioRun requests them
 * every few seconds (ui/run/run-ranks.h). */
#pragma once

#include <adwaita.h>

#include "ui/run/studio-run.h"

#define STUDIO_TYPE_RANK_MEMORY (studio_rank_memory_get_type ())
G_DECLARE_FINAL_TYPE (StudioRankMemory, studio_rank_memory, STUDIO, RANK_MEMORY, AdwBin)

StudioRankMemory *studio_rank_memory_new (StudioRun *run);
/* events are those of `gradloom plan --memory --json`. Returns FALSE and hides the table if they are of one rank. */
gboolean studio_rank_memory_set_planned (StudioRankMemory *self, GPtrArray *events);
