/* Runs as points: the loss against what they cost. Arrow keys go from point to point. */
#pragma once

#include "ui/runs/studio-runs.h"

#include <gtk/gtk.h>

typedef enum
{
  STUDIO_RUN_COST_TIME,
  STUDIO_RUN_COST_PARAMETERS
} StudioRunCost;

#define STUDIO_TYPE_RUN_SCATTER (studio_run_scatter_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunScatter, studio_run_scatter, STUDIO, RUN_SCATTER, GtkWidget)

/* Signal "moved": the cursor is at another point, or its text has changed. */
StudioRunScatter *studio_run_scatter_new (void);
/* entries: StudioRunEntry. */
void studio_run_scatter_set (StudioRunScatter *self, const GPtrArray *entries, StudioRunCost cost);
/* "baseline: loss 0.302, 12 s, on the front", of the point at the cursor; NULL: no point. */
const char *studio_run_scatter_get_words (StudioRunScatter *self);
