/* The model of a training run: its state, curves, evaluations, memory, and the worker that computes it.
 *
 * It has no widgets; the panel, canvas and pins observe it. Tests call its input functions (studio_run_take_…) without
 * a process. */
#pragma once

#include <gio/gio.h>

#include "ui/run/run-curves.h"
#include "ui/run/run-memory.h"
#include "ui/worker/studio-worker.h"

typedef enum
{
  STUDIO_RUN_IDLE,     /* never started */
  STUDIO_RUN_STARTING, /* the worker is being spawned, loads and plans */
  STUDIO_RUN_RUNNING,
  STUDIO_RUN_PAUSED,
  STUDIO_RUN_DONE,
  STUDIO_RUN_STOPPED,
  STUDIO_RUN_FAILED, /* the worker is alive and reports the reason */
  STUDIO_RUN_LOST    /* the worker has exited */
} StudioRunState;

#define STUDIO_TYPE_RUN (studio_run_get_type ())
G_DECLARE_FINAL_TYPE (StudioRun, studio_run, STUDIO, RUN, GObject)

/* Signals:
 *   "state-changed"               state or message
 *   "points"                      new points, evaluations, progress or marks; at most ten a second
 *   "numbers"                     after "points", at most four a second, and so often that Studio takes about 1 % of
 *                                 the processors while the run trains: redraw. Everything that shows numbers of the
 *                                 run draws here, so that a window draws one frame for all of them
 *   "memory-changed"
 *   "ranks-changed"               the number of ranks, or the host, of the next run
 *   "hyper-changed"               studio_run_get_base_lr()
 *   "attached"                    studio_run_attach() shows another run
 *   "begun-on-host"               the run trains on its host: studio_run_attach_begun() shows it
 *   "problem"(code, node, port, sentence)  a fault of the graph or the run; code "REFUSED": a command was refused,
 *                                 "NOTE": not a fault */

/* The options of a run; zero, NULL and NaN mean the graph's own. */
typedef struct
{
  gint64 epochs, batch_size;
  gint64 seed; /* -1: the graph's */
  double lr;   /* NaN: the graph's */
  const char *device;
  int threads;
  gboolean paused; /* pauses before the first step */
} StudioRunOptions;

#define STUDIO_RUN_OPTIONS_INIT                                                                                        \
  {                                                                                                                    \
    .seed = -1, .lr = NAN                                                                                              \
  }

StudioRun *studio_run_new (void);

/* Starts training this graph (canonical text, relative paths resolved in graph_folder). The shown curves become the
 * previous run's. */
void studio_run_start (StudioRun *self, const char *graph_xml, const char *graph_folder, const char *name,
                       const StudioRunOptions *options);
/* Resumes a lost, stopped or failed run from its newest checkpoint; starts from the beginning if there is none. changes
 * may set epochs, lr and device; paused: waits before the next step. */
void studio_run_continue (StudioRun *self, const StudioRunOptions *changes);

/* Resumes a run that has ended from its newest checkpoint at or before this step, with the settings of that checkpoint;
 * the later ones are removed. */
void studio_run_go_back (StudioRun *self, gint64 step);
/* The step of that checkpoint, in the run's folder; -1: there is none. */
gint64 studio_run_find_checkpoint (StudioRun *self, gint64 step);

/* Finds the newest interrupted run of this graph (by its hash) with a checkpoint and restores its curves;
 * studio_run_continue() then resumes it. FALSE if there is none. */
gboolean studio_run_find_interrupted (StudioRun *self, const char *graph_hash, const char *graph_folder);
/* TRUE while another window or program trains this graph, which therefore cannot be resumed here. */
gboolean studio_run_is_elsewhere (const char *graph_hash);
/* TRUE while it goes on without a window, and can be attached. */
gboolean studio_run_is_attachable (const char *graph_hash);
/* If this run is idle: says so, or that the run goes on without a window, or takes the message back. */
void studio_run_find_elsewhere (StudioRun *self, const char *graph_hash);
/* The folder of the run without a window that was found; NULL: none. */
const char *studio_run_get_attachable (StudioRun *self);
/* Shows the run that goes on in this folder without a window, as if it had been started here: with its curve, and all
 * commands. If that fails, the state is as before, with a sentence. */
void studio_run_attach (StudioRun *self, const char *folder, const char *graph_folder);
/* Shows the run that has just begun on its host. */
void studio_run_attach_begun (StudioRun *self);
/* The host on which the next run trains, reached by ssh; NULL: this machine. Emits "ranks-changed". */
void studio_run_set_host (StudioRun *self, const char *host);
const char *studio_run_get_host (StudioRun *self);
const char *studio_run_get_live_host (StudioRun *self); /* of the shown run */
/* Asks the worker to let the run go on without the window. FALSE with an error: a sentence; the run stays as it is. */
void studio_run_keep_async (StudioRun *self, GAsyncReadyCallback callback, gpointer data);
gboolean studio_run_keep_finish (GAsyncResult *result, GError **error);
/* TRUE if the run can go on without the window: a worker computes it. */
gboolean studio_run_can_go_on (StudioRun *self);
/* TRUE: studio_run_close() lets the run go on without a window, at full speed and without breakpoints. */
void studio_run_set_goes_on (StudioRun *self, gboolean goes_on);
/* Writes the note by which the next Studio finds this run; call at the start. */
void studio_run_remember (StudioRun *self, const char *graph_hash);
gboolean studio_run_has_checkpoint (StudioRun *self);
gint64 studio_run_get_checkpoint_step (StudioRun *self); /* -1: none */
/* TRUE for a stopped, lost or failed run with a checkpoint. */
gboolean studio_run_can_resume (StudioRun *self);
/* The canonical text of the graph in training; NULL before the first start. */
const char *studio_run_get_graph (StudioRun *self);
/* The code of the fault that ended the run, such as "NAN"; NULL: unknown. */
const char *studio_run_get_problem_code (StudioRun *self);
/* Pauses before the next step; while a run is being prepared, before its first step. */
void studio_run_pause (StudioRun *self);
gboolean studio_run_is_pause_wanted (StudioRun *self);
/* Milliseconds between the last studio_run_pause() of a running run and its pause; negative: none. */
double studio_run_get_pause_ms (StudioRun *self);
void studio_run_resume (StudioRun *self);
void studio_run_step (StudioRun *self);
/* Stops after the current step. If the step does not end, a second call ends the run by force: after
 * RUN_STALL_FORCE_SECONDS if the step is late, otherwise after a much longer time. */
void studio_run_stop (StudioRun *self);
/* The minimum duration of this and the next runs in seconds, spread evenly over the steps; 0: full speed. */
void studio_run_set_pace (StudioRun *self, double seconds);
double studio_run_get_pace (StudioRun *self);
/* Each rank of the next runs has the graph's batch size. */
void studio_run_set_ranks (StudioRun *self, int ranks);
int studio_run_get_ranks (StudioRun *self);
int studio_run_get_live_ranks (StudioRun *self); /* of the shown run */
/* Changes a hyper-parameter between two steps and marks it on the curves when the worker accepts it. For a run that can
 * be resumed, sets the learning rate with which it resumes. */
void studio_run_set_hyper (StudioRun *self, const char *name, double value);
/* Shows the run as it was after an earlier step, once it is paused; a running one is paused first. -1: as it is. Emits
 * "state-changed" and "numbers" when it is shown. Training on returns first. */
void studio_run_travel (StudioRun *self, gint64 step);
/* The step that is shown; -1: the newest. */
gint64 studio_run_get_shown_step (StudioRun *self);
double studio_run_get_travel_seconds (StudioRun *self); /* the time that the last one took */
/* Begins a run with the state that is shown, in a folder of its own. This one stays as it is. */
void studio_run_branch (StudioRun *self);
/* Clears the model for another graph. A worker that still trains finishes its step and saves. */
void studio_run_reset (StudioRun *self);
/* Lets the worker finish, or go on without the window, because it closes. */
void studio_run_close (StudioRun *self);

StudioRunState studio_run_get_state (StudioRun *self);
const char *studio_run_get_message (StudioRun *self);   /* a sentence or NULL */
gboolean studio_run_is_live (StudioRun *self);          /* starting, running or paused */
const char *studio_run_get_folder (StudioRun *self);    /* NULL before the first start */
LoomBusWorker1 *studio_run_get_proxy (StudioRun *self); /* NULL while there is no worker */
const char *studio_run_get_worker_pid (StudioRun *self);
/* The state as a word for display: "idle", "running", … */
const char *studio_run_state_word (StudioRunState state);

/* Seconds per step spent waiting for the batch, computing, and on the rest. */
typedef struct
{
  double data, compute, rest;
  guint threads; /* threads that prefetch batches; 0: batches are read when needed */
} StudioRunWaits;

/* Unknown numbers are 0 where nothing else is said. */
typedef struct
{
  gint64 step, total_steps, epoch, epochs;
  gint64 recent_steps;          /* number of steps that metrics cover */
  double loss, lr;              /* of the step; NaN: before the first point */
  double base_lr;               /* before its schedule; NaN: unknown */
  double items_per_second, eta; /* eta in seconds; NaN: unknown */
  StudioRunWaits waits;
} StudioRunProgress;

const StudioRunProgress *studio_run_get_progress (StudioRun *self);
/* TRUE if "numbers" is about to come. */
gboolean studio_run_has_news (StudioRun *self);
gint64 studio_run_get_step (StudioRun *self);    /* the newest, or the one that is shown */
double studio_run_get_loss (StudioRun *self);    /* NaN before the first point */
double studio_run_get_base_lr (StudioRun *self); /* before its schedule; NaN: unknown */
/* A sentence if no step has arrived for much longer than usual, or if Pause or Stop still waits for a step. NULL
 * otherwise. (transfer full) */
char *studio_run_dup_stall (StudioRun *self);
/* Describes the step of a snapshot taken after this number of updates: "step 841" if it is from before that step's
 * update, as the step's loss is, or else "after step 840". *step receives its number. (transfer full) */
char *studio_run_dup_when (StudioRun *self, gint64 updates, gint64 *step);
/* TRUE if no step has arrived for much longer than usual, or if Stop can be repeated. */
gboolean studio_run_is_stalled (StudioRun *self);
/* Metrics, such as "accuracy". */
guint studio_run_n_metrics (StudioRun *self);
const char *studio_run_get_metric_name (StudioRun *self, guint i);
double studio_run_get_metric (StudioRun *self, guint i); /* training, over the recent steps */

/* Curves. metric -1 is the loss. Never NULL, except where noted. */
const RunCurves *studio_run_get_curves (StudioRun *self);
LoomSeries *studio_run_get_train (StudioRun *self, int metric);
LoomSeries *studio_run_get_validation (StudioRun *self, int metric);
LoomSeries *studio_run_get_previous (StudioRun *self, int metric); /* NULL: no previous run */

const RunMemory *studio_run_get_memory (StudioRun *self);
/* The memory of each rank of the newest run, as lines of LOOM_SNAPSHOT_RANKS; kept after the run has ended. NULL:
 * unknown. Changes emit "memory-changed". (transfer none) */
GBytes *studio_run_get_rank_memory (StudioRun *self);
/* Requests a new report from the worker; does nothing for a run with one rank. */
void studio_run_request_rank_memory (StudioRun *self);

/* ---- called by the worker's signals, and by tests --------------------------- */

void studio_run_take_begin (StudioRun *self); /* the current curves become the previous ones */
void studio_run_take_state (StudioRun *self, const char *state, const char *message);
void studio_run_take_metrics (StudioRun *self, const char *const *names, GVariant *points, gint64 recent_steps);
void studio_run_take_evaluation (StudioRun *self, const char *split, gint64 step, gint64 epoch, double loss,
                                 const char *const *names, GVariant *values);
void studio_run_take_progress (StudioRun *self, gint64 step, gint64 total_steps, gint64 epoch, gint64 epochs,
                               double items_per_second, double eta_seconds);
void studio_run_take_waits (StudioRun *self, double data, double compute, double rest, guint threads);
void studio_run_take_memory (StudioRun *self, const char *device, GVariant *bytes);
void studio_run_take_rank_memory (StudioRun *self, GVariant *text);
void studio_run_take_hyper (StudioRun *self, const char *name, double value);
void
studio_run_take_problem (StudioRun *self, const char *code, const char *node, const char *port, const char *sentence);
void studio_run_take_checkpoint (StudioRun *self, gint64 step, const char *path);
void studio_run_take_end (StudioRun *self, const char *sentence);
