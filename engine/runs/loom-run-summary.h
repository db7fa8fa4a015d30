/* A run as a row of a list: names, graph, settings, curve and results, read from its folder. */
#pragma once

#include "engine/infer/loom-run-files.h"
#include "engine/runs/loom-run-log.h"
#include "engine/runs/loom-run-notes.h"

typedef struct
{
  gatomicrefcount references;
  char *folder, *leaf;    /* its path, and the path's last name */
  char *error;            /* a sentence if the folder cannot be read as a run; NULL: it can */
  LoomGraph *graph;       /* frozen; NULL with an error */
  char *title;            /* the graph's name; "" if it has none */
  char *data_folder;      /* of the graph's relative paths: the folder of the trained file */
  char *device;           /* NULL with an error */
  gint64 epochs;          /* that the run is to take; 0: the graph does not set it */
  double parameters;      /* number of elements of the newest weights; NaN: no checkpoint yet */
  char *host;             /* on which it trains or has trained, and which this folder mirrors; NULL: this machine */
  gboolean is_attachable; /* it trains without a window, and gradloom attach or Studio can show it */
  LoomRunNotes notes;
  LoomRunLog log;
} LoomRunSummary;

/* Reads a run's folder. Never NULL: a fault is the sentence in error. points: see loom_run_log_init(). */
LoomRunSummary *loom_run_summary_new (const char *folder, guint points);
LoomRunSummary *loom_run_summary_ref (LoomRunSummary *self);
void loom_run_summary_unref (LoomRunSummary *self);
/* The name that the user gave, else that of the folder. */
const char *loom_run_summary_name (const LoomRunSummary *self);
/* Seconds of training, with pauses, and without the time between two sessions of a resumed run. */
double loom_run_summary_seconds (const LoomRunSummary *self);
/* "done", "stopped", "failed", "killed"; NULL: it trains, or is of an earlier version, which did not write it. */
const char *loom_run_summary_end (const LoomRunSummary *self);
/* The loss to compare runs by: of the last evaluation, else of the last step. NaN: none. */
double loom_run_summary_loss (const LoomRunSummary *self);
/* Orders runs by the time they began, then by name; for g_ptr_array_sort(). */
int loom_run_summary_compare (gconstpointer a, gconstpointer b);

/* The folders of runs directly in this folder, or the folder itself if it is a run; sorted by name, at most
 * LOOM_RUN_LIST_MOST. Symbolic links are skipped. A folder is a run's if it has any of the files that a run begins
 * with, so that damaged runs are listed, too. Errors: IO if the folder cannot be read. (transfer full) */
char **loom_run_list (const char *folder, GError **error);
#define LOOM_RUN_LIST_MOST 10000

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomRunSummary, loom_run_summary_unref)
