/* Name, note and star of a run, to be edited. Text is stored at Enter, or when its field loses the focus. */
#pragma once

#include "ui/runs/studio-runs.h"

#include <gtk/gtk.h>

#define STUDIO_TYPE_RUN_DETAILS (studio_run_details_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunDetails, studio_run_details, STUDIO, RUN_DETAILS, GtkBox)

/* Signals: "say" (sentence): notes could not be stored; "done": Enter in the name; "attach": the run, which
 * trains without a window, is to be shown. */
void studio_run_details_set_runs (StudioRunDetails *self, StudioRuns *runs);
/* entry: NULL hides the widget. Stores what was typed for the one before. */
void studio_run_details_set (StudioRunDetails *self, StudioRunEntry *entry);
void studio_run_details_focus_name (StudioRunDetails *self);
void studio_run_details_toggle_star (StudioRunDetails *self);
