/* The graph that a run was started from, compared with the current one. */
#pragma once

#include "ui/document/undo-log.h"

typedef struct _RunVersion RunVersion;

/* The current graph, its hash, and the log of its steps. */
RunVersion *run_version_new (const LoomGraph *graph, const char *hash, const UndoLog *log);
void run_version_free (RunVersion *self);
/* Records whether a step changed the meaning of the graph (everything except layout and view). */
void run_version_note_step (RunVersion *self, guint64 step, gboolean changed);
gboolean run_version_has_step (const RunVersion *self, guint64 step);
/* Records that a step was merged into another. */
void run_version_fold (RunVersion *self, guint64 gone, guint64 into);
/* The number of steps between the run's graph and the one with this hash; 0: they have the same meaning. */
guint run_version_n_changes (const RunVersion *self, const char *hash, const UndoLog *log);
/* TRUE if the node with this path, its attributes and the wires into it are the same as in the run. */
gboolean run_version_has (const RunVersion *self, const LoomGraph *graph, const char *path);

/* Sets a failure of the run that belongs to a node. node NULL: none. */
void
run_version_set_fault (RunVersion *self, LoomErrorCode code, const char *node, const char *port, const char *message);
gboolean run_version_has_fault (const RunVersion *self);
/* Adds the failure to the list while the node is the same as in the run. */
void run_version_add_fault (const RunVersion *self, const LoomGraph *graph, LoomFaults *faults);
