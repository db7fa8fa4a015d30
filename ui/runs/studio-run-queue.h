/* The runs of a document that wait until the run before them has ended. Each owns its graph, so that later edits do not
 * change it. They are files (loom-run-queue.h), which the next Studio finds, and which other programs add and take while
 * this one shows them. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"
#include "engine/runs/loom-runs.h"

#define STUDIO_TYPE_RUN_QUEUE (studio_run_queue_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunQueue, studio_run_queue, STUDIO, RUN_QUEUE, GObject)

/* folder: of their files; NULL: they have none. Signals "changed"; "problem" (const char *sentence): a file cannot be
 * written, and the run waits without. */
StudioRunQueue *studio_run_queue_new (const char *folder);
/* The path of the document: the runs that wait for it are read. Those that were added here stay, and get files if they
 * had none because there was no path (NULL). */
void studio_run_queue_set_document (StudioRunQueue *self, const char *path);
/* name, sweep: may be NULL. */
void studio_run_queue_add (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *name,
                           const char *sweep);
/* Adds a run for each value of an attribute of an element of the graph: a node's serial, or 0 for <train>, which it
 * has. They are named "lr 0.01" and "hidden.out_features 32". */
void studio_run_queue_add_sweep (StudioRunQueue *self, const LoomGraph *graph, const char *title, guint64 serial,
                                 const char *attribute, const char *const *values);
guint studio_run_queue_n (StudioRunQueue *self);
/* Of these, the runs without a file. */
guint studio_run_queue_n_unsaved (StudioRunQueue *self);
const LoomQueuedRun *studio_run_queue_get (StudioRunQueue *self, guint i);
void studio_run_queue_remove (StudioRunQueue *self, guint i);
/* Removes the first run; NULL: none waits. (transfer full) */
LoomQueuedRun *studio_run_queue_take (StudioRunQueue *self);
/* Makes it the first again. (transfer full) */
void studio_run_queue_put_back (StudioRunQueue *self, LoomQueuedRun *run);
