/* A table of what each rank is planned to hold of the memory, by owner, and what it holds in the run: its state and
 * plans, and its process. The worker is asked while this is on the screen, and at no other time. */
#pragma once

#include <adwaita.h>

#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_RANK_MEMORY (studio_rank_memory_get_type ())
G_DECLARE_FINAL_TYPE (StudioRankMemory, studio_rank_memory, STUDIO, RANK_MEMORY, AdwBin)

StudioRankMemory *studio_rank_memory_new (StudioRun *run);
/* The events of `gradloom plan --memory --json`; FALSE, and it is hidden, where they are not of several ranks. */
gboolean studio_rank_memory_set_planned (StudioRankMemory *self, GPtrArray *events);

G_END_DECLS
