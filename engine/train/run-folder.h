/* Writes the folder of a run: graph.xml, run.json, events.jsonl, sessions.jsonl. engine/infer/loom-run-files.h reads
 * it.
 *
 * graph.xml is the graph with every option of the command line written into its <train>, so the folder alone defines
 * the run. run.json has settings that are not part of a graph: device, threads, and the folder for relative data paths.
 * events.jsonl is appended to and locked, so that two processes cannot write one run. Points of steps are collected in
 * memory, and formatted when there are many, at the end of epochs and at checkpoints. */
#pragma once

#include "engine/core/loom-rate.h"
#include "engine/infer/loom-run-event.h"
#include "engine/infer/loom-run-sessions.h"
#include "engine/train/loom-train-events.h"
#include "engine/train/train-model.h"

#define RUN_FOLDER_POINTS 512

typedef struct
{
  char *path;           /* NULL: no files are written */
  LoomFolder *files;    /* the same folder, through which its files are opened */
  int fd;               /* of events.jsonl; -1: not written */
  gint64 events_length; /* of events.jsonl, in bytes */
  gint64 stride;        /* every stride-th step is kept, so that events are bounded */
  guint n_points;
  LoomRunStep point[RUN_FOLDER_POINTS];
  int session;       /* of sessions.jsonl; -1: no session */
  gint64 session_at; /* its line's position */
  LoomRate session_writes;
  LoomRunSession now;
} RunFolder;

/* The definition of the run. */
typedef struct
{
  const TrainModel *model;
  const LoomDataset *dataset;
  int ranks; /* that a batch was divided among when the run began */
} RunFolderContents;

void run_folder_init (RunFolder *self, gint64 total_steps);
void run_folder_clear (RunFolder *self);
/* Makes the folder of a new run. USAGE if it contains a run or other files already; IO. */
gboolean run_folder_create (RunFolder *self, const char *path, const RunFolderContents *run, GError **error);
/* Opens the folder of a run that is resumed, for this process alone. IO if another one trains in it. */
gboolean run_folder_lock (RunFolder *self, const char *path, GError **error);
/* Then cuts the events to events_length, from the run's checkpoint. changed: options have changed the run, and
 * graph.xml and run.json are written again; may be NULL. */
gboolean run_folder_open (RunFolder *self, const RunFolderContents *changed, GError **error);

/* Begins a session after this many steps; epoch from 0. Nothing is written without a folder. */
gboolean run_folder_begin_session (RunFolder *self, gint64 step, gint64 epoch, GError **error);
/* Writes how the session has ended. nan_step 0: all numbers were finite. sentence NULL: none. */
void run_folder_end_session (RunFolder *self, LoomRunEnd end, gint64 nan_step, const char *sentence);

/* TRUE: this step is in events.jsonl, of which a long run has every nth. */
gboolean run_folder_records (const RunFolder *self, gint64 step);
/* Records a finished step. */
gboolean run_folder_add_step (RunFolder *self, const LoomRunStep *point, GError **error);
/* A line of events.jsonl: new with its event; writing it, after the collected points, also frees it. */
LoomJson *run_event_new (const char *event);
gboolean run_folder_add_event (RunFolder *self, LoomJson *json, GError **error);
/* Copies the events of another run up to a step. */
gboolean run_folder_copy_events (RunFolder *self, LoomFolder *from, gint64 last, GError **error);
gboolean run_folder_add_eval (RunFolder *self, const LoomTrainerEval *eval, GError **error);
/* Writes the collected points; sync: synchronises them to the disk, too. */
gboolean run_folder_flush (RunFolder *self, GError **error);
gboolean run_folder_sync (RunFolder *self, GError **error);
