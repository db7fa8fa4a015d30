/* Runs that wait to be trained one after the other: a file each in a folder, so that they survive the program.
 *
 * A file has its number as its name, "1796034600000000.json", and the graph in it, so that later edits do not change
 * what is trained. A process that trains a run first claims it, by a lock that ends with the process, and removes the
 * file once the run has a folder: a run whose process was killed before then waits again. */
#pragma once

#include "engine/core/loom-folder.h"

typedef struct
{
  gint64 number;  /* of its file; 0: it has none */
  char *document; /* the path of the graph's file; NULL: it has none, and the run no file */
  char *xml;      /* the graph */
  char *folder;   /* of its relative paths; NULL: none */
  char *title;    /* of the document: names the run's folder */
  char *name;     /* of the run, in notes.json; NULL: none */
  char *sweep;    /* in notes.json; NULL: none */
} LoomQueuedRun;

void loom_queued_run_free (LoomQueuedRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomQueuedRun, loom_queued_run_free)

/* The runs of a document (NULL: of all) that wait in a folder, in the order of their numbers: an array of
 * LoomQueuedRun. Damaged files are left out; a folder that is missing is empty. (transfer full) */
GPtrArray *loom_run_queue_read (const char *folder, const char *document);
/* Writes the file of a run, whose number it sets to the next one if it is 0. The folder is made. IO. */
gboolean loom_run_queue_add (const char *folder, LoomQueuedRun *run, GError **error);
/* The claim of a run that still waits; -1: it is another's, or gone. */
int loom_run_queue_claim (const char *folder, const LoomQueuedRun *run);
/* Ends a claim: the run has begun, or waits again. */
void loom_run_queue_finish (const char *folder, const LoomQueuedRun *run, int claim, gboolean has_begun);
/* TRUE if the run still waited: it is the caller's now. */
gboolean loom_run_queue_remove (const char *folder, const LoomQueuedRun *run);

/* The path of a new run of this title in a folder: its letters and digits, and the first free number, "lenet-0001".
 * (transfer full) */
char *loom_run_folder_new (const char *in, const char *title);
