/* The runs of a graph as a list model of StudioRunEntry, the newest first.
 *
 * A thread reads the folders, and only what has changed since the last time; the list never blocks. Runs are those in
 * the folder of the graph's file and in its subfolders, and those that Studio keeps of the same graph name. */
#pragma once

#include "ui/runs/studio-run-entry.h"

#define STUDIO_TYPE_RUNS (studio_runs_get_type ())
G_DECLARE_FINAL_TYPE (StudioRuns, studio_runs, STUDIO, RUNS, GObject)

#define STUDIO_RUNS_POINTS 600 /* of a curve */

/* Signals: "read": a reading has ended; "chosen-changed": other runs are in the charts, which are all runs if none
 * is chosen, or one of them has new values. */
StudioRuns *studio_runs_new (void);
/* kept: the folder in which Studio keeps runs. folder: of the graph's file, whose subfolders are searched for runs, two
 * levels deep; NULL: none. title: the graph's name, of which runs in `kept` are listed. */
void studio_runs_set_graph (StudioRuns *self, const char *kept, const char *folder, const char *title);
/* Lists the runs of this folder alone, whatever the graph; NULL: those of the graph again. */
void studio_runs_set_only (StudioRuns *self, const char *folder);
const char *studio_runs_get_only (StudioRuns *self);
/* Reads again. */
void studio_runs_refresh (StudioRuns *self);
gboolean studio_runs_is_reading (StudioRuns *self);
/* A sentence if the folder of studio_runs_set_only() cannot be read; NULL. */
const char *studio_runs_get_problem (StudioRuns *self);
/* NULL: the list has no run in this folder. */
StudioRunEntry *studio_runs_find (StudioRuns *self, const char *folder);

/* The run in this folder is paused, which is not written there; NULL: none. */
void studio_runs_set_paused (StudioRuns *self, const char *folder);

/* Adds a run to the charts, in the colour with the lowest number that no other run has, or removes it. Charts have a
 * fixed set of colours, which repeat. */
void studio_runs_choose (StudioRuns *self, StudioRunEntry *entry, gboolean chosen);
/* TRUE: charts have the curves of validation, too, as they do at first. Emits "chosen-changed". */
void studio_runs_set_validation (StudioRuns *self, gboolean shown);
gboolean studio_runs_get_validation (StudioRuns *self);
/* The chosen entries, in the order of the list; if `all`, all readable ones if none is chosen. (transfer container) */
GPtrArray *studio_runs_dup_chosen (StudioRuns *self, gboolean all);

/* Writes the notes to the run's folder and shows them at once. Errors: IO. */
gboolean studio_runs_write_notes (StudioRuns *self, StudioRunEntry *entry, const LoomRunNotes *notes, GError **error);
/* Removes a run from the list, or adds it again: until it is deleted, the deletion can be undone. */
void studio_runs_hide (StudioRuns *self, const char *folder, gboolean hidden);
