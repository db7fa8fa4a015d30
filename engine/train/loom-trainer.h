/* A training run: data set → batches → plan → metrics → events → checkpoints.
 *
 * The command line and the worker both drive this object; neither knows how a step works. All calls are made from one
 * thread (the compute thread) except loom_trainer_post(), which may come from any. Observers are called on the
 * compute thread between steps and must be quick. */
#pragma once

#include "engine/infer/loom-answer.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-train-commands.h"
#include "engine/train/loom-train-events.h"
#include "engine/train/loom-train-options.h"

G_BEGIN_DECLS

typedef struct _LoomTrainer LoomTrainer;

typedef struct
{
  void (*step) (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data);
  void (*eval) (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data);
  /* Training ends before its last epoch. */
  void (*early_stop) (LoomTrainer *trainer, const LoomTrainerWatch *watch, gpointer data);
  void (*checkpoint) (LoomTrainer *trainer, gint64 step, const char *path, gpointer data);
  void (*state) (LoomTrainer *trainer, const char *state,
                 gpointer data); /* preparing running paused done stopped failed */
  void (*note) (LoomTrainer *trainer, const char *text, gpointer data); /* as loom_trainer_notes(), while it runs */
  void (*memory) (LoomTrainer *trainer, gpointer data); /* another plan is live: loom_trainer_memory() has changed */
} LoomTrainerObserver;

/* graph may be NULL when options->resume is set. Opens devices and data, plans, initialises or restores. Errors as
 * their domain says; faults of the graph are one error with all sentences. */
LoomTrainer *loom_trainer_new (const LoomGraph *graph, const LoomTrainerOptions *options, GError **error);

/* Notes for the user that are no errors (a damaged checkpoint was passed over, bits may differ), a
 * line each; NULL when there is nothing. */
const char *loom_trainer_notes (const LoomTrainer *trainer);
void loom_trainer_free (LoomTrainer *trainer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTrainer, loom_trainer_free)
void loom_trainer_set_observer (LoomTrainer *trainer, const LoomTrainerObserver *observer, gpointer data);

typedef enum
{
  LOOM_TRAINER_DONE,
  LOOM_TRAINER_STOPPED,
  LOOM_TRAINER_INTERRUPTED,
  LOOM_TRAINER_FAILED
} LoomTrainerEnd;

/* Runs until the last epoch, a stop, or an error. When interrupted (a posted "interrupt") it finishes the step, writes
 * a checkpoint and returns INTERRUPTED with CANCELLED. A NaN loss gives NAN: the batch is repeated eagerly and the node
 * named where it first appeared; state is as before that step. */
LoomTrainerEnd loom_trainer_run (LoomTrainer *trainer, GError **error);
/* The next loom_trainer_run() ends as stopped after this step of the run, and the one after it continues: the steps are
 * the same as those of a single run. 0: it goes to the end. To be called while nothing runs; before, it is as
 * LoomTrainerOptions.steps says. */
void loom_trainer_set_last_step (LoomTrainer *trainer, gint64 step);
/* Where the run failed: a node's path, and the name of its output in *port where that is known (NULL otherwise; port
 * may be NULL). NULL when the failure belongs to no node, or there was none. */
const char *loom_trainer_get_failed_node (const LoomTrainer *trainer, const char **port);
/* Evaluates a split over all its samples ("val" falls back to "test"): the moving averages of the weights where <train>
 * keeps some and there was a step, else the weights. */
gboolean loom_trainer_evaluate (LoomTrainer *trainer, const char *split, GError **error);

/* Commands, from any thread, read between steps; each change is written into events.jsonl. */
void loom_trainer_post (LoomTrainer *trainer, LoomCommandKind kind, const char *name, double value);

/* TRUE if SET_HYPER knows this name: the optimiser's ("lr", "momentum", …) and operators' ("drop.p"). */
gboolean loom_trainer_has_hyper (LoomTrainer *trainer, const char *name);
/* The learning rate in force, before its schedule: of the graph, the options, the checkpoint or SET_HYPER. To be asked
 * where the run is (in an observer), or before it. */
double loom_trainer_base_lr (LoomTrainer *trainer);

/* A snapshot of a port (a weight is one, too; "grad:PORT": its gradient) on a fixed sample batch, from a second,
 * unfused plan over the same state: commits nothing, draws nothing from the run. Callable from any thread during the
 * run: it is answered between steps.
 *
 * *step: the number of updates that the weights had taken. While a run with an observer of its memory stands still
 * (paused, or over) after step N it is N - 1: loss, values, gradients and weights are of step N, before its update.
 * While it runs it is N: they are those with which step N + 1 begins. It is also N if no step came before the pause, if
 * the run has several ranks, if the memory did not suffice for a copy of them, or for "now:PORT", the state as it is.
 *
 * LOOM_SNAPSHOT_TIMES as the port: the seconds that each node of the net takes for the fixed sample, forwards and
 * backwards and unfused, f32 in the order of loom_net_node(). It takes a few steps' time.
 *
 * LOOM_SNAPSHOT_TRACE: the lanes of the step that was recorded last as the text of a trace file (loom-trace.h), u8; the
 * next step is then recorded.
 *
 * LOOM_SNAPSHOT_NODES: what each node holds of the memory that the run has taken, on this rank: u8, a JSON object with
 * the members of loom_node_bytes_add_json() a line, the largest first. They come to loom_trainer_memory().
 *
 * LOOM_SNAPSHOT_LOSSES, on rank 0: u8, for each step since the last question a line {"step":n,"loss":x,"ranks":[x,…]}:
 * the loss, and what it would be if all samples were as each rank's own are, null where a rank has no samples of its
 * own (parts of weights, stages). The mean of these, weighed by the ranks' samples, is the loss. The first question
 * begins it, and some seconds after the last one it ends.
 *
 * LOOM_SNAPSHOT_RANKS, on rank 0: u8, for each rank a line
 * {"rank":n,"process":n,"device":s,"bytes":{owner:n,…},"held":n, "process_before":n,"process_now":n,"process_most":n}:
 * what its state and plans have allocated, and what its process had as the run began, has, and has had at most; of a
 * device with memory of its own also "device_used" and "device_total". As of the step after the query before; empty
 * until then. */
LoomTensor *loom_trainer_snapshot (LoomTrainer *trainer, const char *port, gint64 *step, GError **error);

/* Computes the net's present answers to samples of the port that the answer depends on: f32 [n, …] of that port's
 * shape, converted to its type. Which port answers and what its numbers mean is found as loom_predictor_new() does, and
 * averages of weights are used as an evaluation does. (transfer full), n of LoomAnswer. Callable as
 * loom_trainer_snapshot() is, and as harmless. Errors: PORT where it is not clear what answers, SHAPE for samples of
 * another shape. moment may be NULL. */
GPtrArray *
loom_trainer_predict (LoomTrainer *trainer, const LoomTensor *samples, LoomTrainerMoment *moment, GError **error);

/* On the compute thread (in an observer), or where nothing runs. */
void loom_trainer_waits (const LoomTrainer *trainer, LoomTrainerWaits *waits);

/* Since loom_trainer_new(), on rank 0. */
LoomStaleness loom_trainer_staleness (const LoomTrainer *trainer);

const LoomNet *loom_trainer_net (const LoomTrainer *trainer);
const LoomTrainSpec *loom_trainer_spec (const LoomTrainer *trainer);
gint64 loom_trainer_steps (const LoomTrainer *trainer); /* finished ones */
gint64 loom_trainer_total_steps (const LoomTrainer *trainer);
/* TRUE if nothing is left to do: all epochs are done, or it has ended early. */
gboolean loom_trainer_is_over (const LoomTrainer *trainer);
/* Whether the step of LoomTrainerOptions.trace has been written. */
gboolean loom_trainer_has_traced (const LoomTrainer *trainer);
/* NULL where it began from no file, or is resumed from a checkpoint. */
const LoomTransfer *loom_trainer_transfer (const LoomTrainer *trainer);
/* The command that resumes a run that has a folder, with as many ranks if all are on this machine.
 * (transfer full) */
char *loom_trainer_resume_words (const LoomTrainer *trainer);

/* What ranks of one run have alike, with the words for it. */
#define LOOM_TRAINER_N_PARTS 10
extern const char *const loom_trainer_parts[LOOM_TRAINER_N_PARTS];
/* Hashes of these parts. trainer may be NULL: zeros. */
void loom_trainer_fingerprint (const LoomTrainer *trainer, guint64 part[LOOM_TRAINER_N_PARTS]);
const char *loom_trainer_device (const LoomTrainer *trainer);
LoomState *loom_trainer_state (const LoomTrainer *trainer);
/* Bytes by owner on the run's devices: state, and the arenas of every plan that is live (training, the last short
 * batch, evaluation, snapshots). On the compute thread, or where nothing runs. */
void loom_trainer_memory (const LoomTrainer *trainer, gsize bytes[LOOM_N_OWNERS]);
/* Of the run's device. FALSE where that shares the host's memory, or says nothing. Where loom_trainer_memory() may be
 * called. */
gboolean loom_trainer_device_memory (const LoomTrainer *trainer, LoomTrainerDeviceMemory *memory);

G_END_DECLS
