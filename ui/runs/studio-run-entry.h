/* A run as an item of StudioRuns. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"
#include "engine/runs/loom-runs.h"

#define STUDIO_TYPE_RUN_ENTRY (studio_run_entry_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunEntry, studio_run_entry, STUDIO, RUN_ENTRY, GObject)

/* Signal "changed": anything below. change: to the run before; NULL: there is none. */
StudioRunEntry *studio_run_entry_new (LoomRunSummary *summary, const char *change);
/* Emits "changed" and returns TRUE if something differs. */
gboolean studio_run_entry_set (StudioRunEntry *self, LoomRunSummary *summary, const char *change);
const LoomRunSummary *studio_run_entry_get (StudioRunEntry *self);
const char *studio_run_entry_get_change (StudioRunEntry *self);
/* The loss over the steps, for a chart. */
LoomSeries *studio_run_entry_get_series (StudioRunEntry *self);
/* The loss of its evaluations likewise, of which there may be none. */
LoomSeries *studio_run_entry_get_validation (StudioRunEntry *self);
/* The colour in charts, from 1, because the first is that of validation; -1: the run is not in the charts. */
int studio_run_entry_get_colour (StudioRunEntry *self);
void studio_run_entry_set_colour (StudioRunEntry *self, int colour);

/* The run waits before its next step, which its folder does not say. */
void studio_run_entry_set_paused (StudioRunEntry *self, gboolean paused);

/* Texts of the row. (transfer full) */
char *studio_run_entry_dup_result (StudioRunEntry *self); /* "0.302 · 12 s", or what the run does */
char *studio_run_entry_dup_change (StudioRunEntry *self); /* "lr 0.01 → 0.1"; the sentence of a damaged run */
/* Why the run ended, if it failed or was killed; NULL: it did not. */
char *studio_run_entry_dup_reason (StudioRunEntry *self);
char *studio_run_entry_dup_spoken (StudioRunEntry *self); /* all of the row, read aloud */
