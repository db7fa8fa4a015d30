/* A training run as Studio knows it: state, curves, evaluations, memory, and the worker that computes it.
 *
 * The model has no widgets; panel, canvas and pins only look at it. It can be fed by hand (studio_run_take_…), which is
 * how tests see every path without a process. */
#pragma once

#include <gio/gio.h>

#include "ui/charts/studio-driver-memory.h"
#include "ui/charts/studio-series.h"
#include "ui/run/studio-worker.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_RUN_IDLE,     /* never started */
  STUDIO_RUN_STARTING, /* the worker is being spawned, loads, plans */
  STUDIO_RUN_RUNNING,
  STUDIO_RUN_PAUSED,
  STUDIO_RUN_DONE,
  STUDIO_RUN_STOPPED,
  STUDIO_RUN_FAILED, /* the worker lives and says why */
  STUDIO_RUN_LOST    /* the worker is gone */
} StudioRunState;

#define STUDIO_TYPE_RUN (studio_run_get_type ())
G_DECLARE_FINAL_TYPE (StudioRun, studio_run, STUDIO, RUN, GObject)

/* Signals:
 *   "state-changed"               state or message
 *   "points"                      new points, evaluations, progress or marks; at most ten a second
 *   "numbers"                     after "points", at most four a second: what people read is to be shown again.
 *                                 All that shows numbers of the run does it here, so that a window draws one frame
 *                                 for them
 *   "memory-changed"
 *   "ranks-changed"               the next runs have another number of them
 *   "hyper-changed"               studio_run_get_base_lr() is another
 *   "problem"(code, node, port, sentence)  of the graph or the run; code "REFUSED": a command that was not obeyed,
 *                                 "NOTE": no fault, but worth knowing */

/* The options of a run; zero, NULL and NaN mean the graph's own. */
typedef struct
{
  gint64 epochs, batch_size;
  gint64 seed; /* -1: the graph's */
  double lr;   /* NaN: the graph's */
  const char *device;
  int threads;
  gboolean paused; /* waits for a step or for going on */
} StudioRunOptions;

#define STUDIO_RUN_OPTIONS_INIT                                                                                        \
  {                                                                                                                    \
    .seed = -1, .lr = NAN                                                                                              \
  }

StudioRun *studio_run_new (void);

/* Starts with this graph (its canonical text), whose relative paths hold in folder. out is the run's folder, to be
 * made. What was shown becomes the previous run. */
void studio_run_start (StudioRun *self, const char *graph_xml, const char *graph_folder, const char *name,
                       const StudioRunOptions *options);
/* Goes on from the newest checkpoint of a run that was lost, stopped or failed; from the beginning when there is none.
 * changes: epochs, lr and device may be others than before; paused waits for a step. */
void studio_run_continue (StudioRun *self, const StudioRunOptions *changes);

/* The newest run of this graph (by the hash of its meaning) that was cut off after a checkpoint becomes what
 * studio_run_continue goes on with, its curves as they were; FALSE when there is none. */
gboolean studio_run_find_cut_off (StudioRun *self, const char *graph_hash, const char *graph_folder);
/* TRUE while some window or program trains this graph; a cut off run of it is then none to go on with. */
gboolean studio_run_is_elsewhere (const char *graph_hash);
/* Says so, or no more, while there is no run here. */
void studio_run_say_elsewhere (StudioRun *self, gboolean elsewhere);
/* Call at the start of a run, so that the next Studio can find it. */
void studio_run_remember (StudioRun *self, const char *graph_hash);
gboolean studio_run_has_checkpoint (StudioRun *self);
gint64 studio_run_get_checkpoint_step (StudioRun *self); /* -1: none */
/* TRUE for a run that was stopped, lost or failed, and has a checkpoint to go on from. */
gboolean studio_run_can_go_on (StudioRun *self);
/* The canonical text of the graph that it trains; NULL before the first start. */
const char *studio_run_get_graph (StudioRun *self);
/* "NAN" and the like: why it failed; NULL when that is not known. */
const char *studio_run_get_problem_code (StudioRun *self);
/* While a run is being prepared, it then waits before its first step. */
void studio_run_pause (StudioRun *self);
gboolean studio_run_is_pause_wanted (StudioRun *self);
/* Milliseconds from the last studio_run_pause() of a running run to its pause; negative when there was none. */
double studio_run_get_pause_ms (StudioRun *self);
void studio_run_resume (StudioRun *self);
void studio_run_step (StudioRun *self);
/* Asked again while the step has still not ended, it ends the run by force: STUDIO_RUN_FORCE_SECONDS later where a step
 * is late, else much later. */
void studio_run_stop (StudioRun *self);
#define STUDIO_RUN_FORCE_SECONDS 2
/* This run and the next ones take at least this number of seconds, their steps spread evenly; 0: as fast as they
 * can. */
void studio_run_set_pace (StudioRun *self, double seconds);
double studio_run_get_pace (StudioRun *self);
/* The next runs divide each batch among this number of ranks, each with the graph's batch size. */
void studio_run_set_ranks (StudioRun *self, int ranks);
int studio_run_get_ranks (StudioRun *self);
int studio_run_get_live_ranks (StudioRun *self); /* of the run that is shown */
/* Changes a hyper-parameter between two steps and, when the worker has accepted it, marks it on the curves. A run that
 * can be gone on with takes a learning rate to go on with. */
void studio_run_set_hyper (StudioRun *self, const char *name, double value);
/* Forgets everything: another graph was opened. A worker that still trains finishes its step and saves. */
void studio_run_reset (StudioRun *self);
/* Lets the worker finish: the window closes. */
void studio_run_close (StudioRun *self);

StudioRunState studio_run_get_state (StudioRun *self);
const char *studio_run_get_message (StudioRun *self);   /* a sentence or NULL */
gboolean studio_run_is_live (StudioRun *self);          /* starting, running or paused */
const char *studio_run_get_folder (StudioRun *self);    /* NULL before the first start */
LoomBusWorker1 *studio_run_get_proxy (StudioRun *self); /* NULL while there is no worker */
const char *studio_run_get_worker_pid (StudioRun *self);
/* "idle", "running", …: for people. */
const char *studio_run_state_word (StudioRunState state);

gint64 studio_run_get_step (StudioRun *self);
gint64 studio_run_get_total_steps (StudioRun *self); /* 0 unknown */
gint64 studio_run_get_epoch (StudioRun *self);
gint64 studio_run_get_epochs (StudioRun *self);
double studio_run_get_loss (StudioRun *self); /* NaN before the first point */
double studio_run_get_lr (StudioRun *self);
double studio_run_get_base_lr (StudioRun *self); /* before its schedule; NaN: not known yet */
double studio_run_get_items_per_second (StudioRun *self);
double studio_run_get_eta (StudioRun *self); /* seconds; NaN unknown */
/* What a running run is late with: that no step has come for much longer than steps took so far, and that Pause or Stop
 * waits for it. NULL: nothing is late. (transfer full) */
char *studio_run_dup_delay (StudioRun *self);
/* The moment of a snapshot, from the number of updates that its weights had taken: "step 841" where it is from before
 * that step's update, as the step's loss is, or "after step 840". *step is its number. (transfer full) */
char *studio_run_dup_when (StudioRun *self, gint64 updates, gint64 *step);
/* TRUE where that is no step's usual length, or where Stop can be asked for again. */
gboolean studio_run_is_late (StudioRun *self);
/* Names of the metrics: "accuracy". */
guint studio_run_n_metrics (StudioRun *self);
const char *studio_run_get_metric_name (StudioRun *self, guint i);
double studio_run_get_metric (StudioRun *self, guint i); /* training, over the last steps */
gint64 studio_run_get_recent_steps (StudioRun *self);    /* that it is over, up to the newest one; 0: unknown */

/* Curves. metric -1 is the loss. Never NULL. */
StudioSeries *studio_run_get_train (StudioRun *self, int metric);
StudioSeries *studio_run_get_validation (StudioRun *self, int metric);
StudioSeries *studio_run_get_previous (StudioRun *self, int metric); /* NULL: there was none */
const char *studio_run_get_split (StudioRun *self); /* "val" or "test": what validation was made on; NULL before one */

typedef struct
{
  double step;
  char *label;
} StudioRunMark;
guint studio_run_n_marks (StudioRun *self);
const StudioRunMark *studio_run_get_mark (StudioRun *self, guint i);

/* Where a step of the run waits, in seconds: until its batch is there, for the computation, for the rest. */
typedef struct
{
  double data, compute, rest;
  guint threads; /* that prepare batches ahead; 0: each is read when it is wanted */
} StudioRunWaits;

/* NULL: nothing is known. */
const StudioRunWaits *studio_run_get_waits (StudioRun *self);

guint studio_run_n_owners (StudioRun *self);
const char *const *studio_run_get_owners (StudioRun *self);
const guint64 *studio_run_get_owner_bytes (StudioRun *self);
const char *studio_run_get_memory_device (StudioRun *self);
/* NULL where the device shares the host's memory, or nothing is known yet. */
const StudioDriverMemory *studio_run_get_driver_memory (StudioRun *self);

/* What each rank of the newest run has taken, lines as LOOM_SNAPSHOT_RANKS has them, also when it has ended; NULL where
 * nothing is known. "memory-changed" tells of another. (transfer none) */
GBytes *studio_run_get_rank_memory (StudioRun *self);
/* Asks the worker for what they have taken now; nothing where the run has one rank. */
void studio_run_ask_rank_memory (StudioRun *self);

/* ---- fed by the worker's signals, and by tests ------------------------------ */

void studio_run_take_begin (StudioRun *self); /* a new run: curves become the previous ones */
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

/* "$XDG_STATE_HOME/gradloom/runs/NAME-20260131-154210", not there yet. */
char *studio_run_new_folder (const char *name);

G_END_DECLS
