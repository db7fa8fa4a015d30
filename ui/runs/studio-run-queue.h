/* Runs that wait until the run before them has ended. Each owns its graph, so that later edits do not change it. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

G_BEGIN_DECLS

typedef struct
{
  char *xml;    /* the graph */
  char *folder; /* of its relative paths; NULL: none */
  char *title;  /* of the document: names the run's folder */
  char *name;   /* of the run, in notes.json; NULL: none */
  char *sweep;  /* in notes.json; NULL: none */
} StudioQueuedRun;

void studio_queued_run_free (StudioQueuedRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioQueuedRun, studio_queued_run_free)

#define STUDIO_TYPE_RUN_QUEUE (studio_run_queue_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunQueue, studio_run_queue, STUDIO, RUN_QUEUE, GObject)

/* Signal "changed". */
StudioRunQueue *studio_run_queue_new (void);
/* name, sweep: may be NULL. */
void studio_run_queue_add (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *name,
                           const char *sweep);
/* Adds a run for each value of an attribute of <train>, which the graph has. They are named "lr 0.01". */
void studio_run_queue_add_sweep (StudioRunQueue *self, const LoomGraph *graph, const char *title, const char *attribute,
                                 const char *const *values);
guint studio_run_queue_n (StudioRunQueue *self);
const StudioQueuedRun *studio_run_queue_get (StudioRunQueue *self, guint i);
void studio_run_queue_remove (StudioRunQueue *self, guint i);
/* Removes the first run; NULL: none waits. (transfer full) */
StudioQueuedRun *studio_run_queue_take (StudioRunQueue *self);
/* Makes it the first again. (transfer full) */
void studio_run_queue_put_back (StudioRunQueue *self, StudioQueuedRun *run);

G_END_DECLS
