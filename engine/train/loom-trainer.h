/* A training run: data set → batches → plan → metrics → events → checkpoints.
 *
 * The command line and the worker both drive this object; neither knows how a step works. All calls are made from one
 * thread (the compute thread) except loom_trainer_post(), which may come from any. Observers are called on the
 * compute thread between steps and must be quick. */
#pragma once

#include "engine/core/loom-json.h"
#include "engine/graph/loom-graph.h"
#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"
#include "engine/infer/loom-answer.h"

G_BEGIN_DECLS

typedef struct _LoomTrainer LoomTrainer;

typedef struct
{
  const char *device;      /* NULL: the graph's, else "cpu" */
  int threads;             /* 0: all */
  gint64 epochs;           /* 0: the graph's */
  gboolean no_epochs;      /* instead of any: initialise, evaluate and write the weights */
  gint64 steps;            /* ends after so many of the run, with a checkpoint, where epochs are more; 0: no such end */
  gint64 batch_size;       /* 0: the graph's */
  gint64 samples;          /* so many different samples are trained on, as loom_dataset_keep() has it; 0: all */
  double lr;               /* NaN: the graph's */
  const char *precision;   /* "f32", "bf16", "f16"; NULL: the graph's */
  gboolean tf32;           /* products of f32 may be rounded to TF32; FALSE: as the graph says */
  const char *strategy;    /* of <parallel>; NULL: the graph's */
  gint64 seed;             /* -1: the graph's */
  const char *const *set;  /* "NODE.PARAM=VALUE", NULL-terminated; may be NULL */
  const char *weights;     /* safetensors to begin from; NULL: the graph's; "": none */
  const char *match;       /* patterns of what is taken from it; NULL: the graph's */
  const char *out;         /* run folder; NULL: nothing is written */
  const char *resume;      /* a run folder: graph, options and place come from its newest whole checkpoint.
                            * a change of batch_size or seed, any set, and weights are then a USAGE error */
  const char *costs_of;    /* a run folder whose cost table is taken; NULL: resume's, else the user's */
  LoomComm *comm;          /* the run is one of its ranks, and the batch size is that of a rank; NULL: it is alone.
                            * Must outlive the trainer. Rank 0 writes what is written. */
  const char *trace;       /* a file for the lanes of the sixth step, or the last one of fewer; NULL: none */
  gboolean trace_optional; /* none where no step is of all ranks (strategy="server"); else that is a USAGE error */
  double checkpoint_seconds; /* 0: 30; checkpoints also at each epoch's end */
} LoomTrainerOptions;

/* Where a step waits: means of the steps that were measured since the run began, in seconds. */
typedef struct
{
  gint64 steps; /* that were measured; 0: nothing is known yet */
  double data;  /* until the batch is there */
  double compute;
  double rest;   /* rates, metrics, events, checkpoints */
  guint threads; /* that prepare batches ahead; 0: each is read when it is wanted */
} LoomTrainerWaits;

typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  gint64 steps_per_epoch, total_steps;
  double loss;         /* of this step's batch */
  double epoch_loss;   /* sample-weighted mean of this epoch so far */
  gint64 recent_steps; /* up to this one, that recent_loss and metrics are of: see loom_train_recent_steps() */
  double recent_loss;  /* their sample-weighted mean */
  double lr, grad_norm;
  double items_per_second, eta_seconds; /* 0 as long as they are unknown */
  guint n_metrics;
  const char *const *metric_name;
  const double *metric; /* of the last recent_steps */
} LoomTrainerStep;

/* n × n numbers in rows; n is 0 where a metric is a number alone. */
typedef struct
{
  guint n;
  const double *value;
} LoomTrainerMatrix;

typedef struct
{
  const char *split; /* "val" or "test" */
  gint64 step, epoch;
  double loss;
  guint n_metrics;
  const char *const *metric_name;
  const double *metric;            /* of a matrix, its diagonal's share */
  const LoomTrainerMatrix *matrix; /* one for each metric */
} LoomTrainerEval;

/* How many gradients were pushed to a parameter server, and how many updates each of them knew nothing of. */
typedef struct
{
  gint64 pushes, sum, most; /* 0 pushes: there was no server */
} LoomStaleness;

/* Which epoch was best, by <train>'s monitor. */
typedef struct
{
  double best;       /* NaN before the first */
  gint64 best_epoch; /* from 1 */
  gint64 epochs_since_best;
  gboolean patience_exhausted; /* as many as <train> has patience for: the run has ended */
} LoomTrainerWatch;

/* The weights that a run took from the file that it began from. */
typedef struct
{
  char *name;
  char *here, *there; /* shapes, NULL where it is not; of a mismatch may be types, too */
} LoomTransferItem;

typedef struct
{
  char *file;
  GPtrArray *loaded, *missing, *unused, *mismatched; /* LoomTransferItem */
} LoomTransfer;

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
typedef enum
{
  LOOM_COMMAND_PAUSE,
  LOOM_COMMAND_RESUME,
  LOOM_COMMAND_STEP, /* one batch, then pause */
  LOOM_COMMAND_STOP, /* finish the step, checkpoint, evaluate nothing */
  LOOM_COMMAND_INTERRUPT,
  LOOM_COMMAND_CHECKPOINT,
  LOOM_COMMAND_SET_HYPER /* name, value */
} LoomCommandKind;
void loom_trainer_post (LoomTrainer *trainer, LoomCommandKind kind, const char *name, double value);

/* TRUE if SET_HYPER knows this name: the optimiser's ("lr", "momentum", …) and operators' ("drop.p"). */
gboolean loom_trainer_has_hyper (LoomTrainer *trainer, const char *name);
/* The learning rate in force, before its schedule: of the graph, the options, the checkpoint or SET_HYPER. To be asked
 * where the run is (in an observer), or before it. */
double loom_trainer_base_lr (LoomTrainer *trainer);

#define LOOM_SNAPSHOT_TIMES  "time:"
#define LOOM_SNAPSHOT_TRACE  "trace:"
#define LOOM_SNAPSHOT_NODES  "nodes:"
#define LOOM_SNAPSHOT_LOSSES "losses:"
#define LOOM_SNAPSHOT_RANKS  "ranks:"
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
 * begins it, and some seconds behind the last one it ends.
 *
 * LOOM_SNAPSHOT_RANKS, on rank 0: u8, for each rank a line
 * {"rank":n,"process":n,"device":s,"bytes":{owner:n,…},"held":n, "process_before":n,"process_now":n,"process_most":n}:
 * what its state and plans have allocated, and what its process had as the run began, has, and has had at most; of a
 * device with memory of its own also "device_used" and "device_total". As of the step behind the question before; empty
 * until then. */
LoomTensor *loom_trainer_snapshot (LoomTrainer *trainer, const char *port, gint64 *step, GError **error);

typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  double seconds;     /* for which the run stood still */
} LoomTrainerMoment;
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
/* The command that goes on with a run that has a folder, by as many ranks where all are on this machine.
 * (transfer full) */
char *loom_trainer_resume_words (const LoomTrainer *trainer);

/* What ranks of one run have alike, with the words for it. */
#define LOOM_TRAINER_N_PARTS 10
extern const char *const loom_trainer_parts[LOOM_TRAINER_N_PARTS];
/* Hashes of these parts. trainer may be NULL: zeros. */
void loom_trainer_fingerprint (const LoomTrainer *trainer, guint64 part[LOOM_TRAINER_N_PARTS]);
/* Adds the members "file", "loaded", "missing", "unused" and "mismatched" to the object that is being written. */
void loom_transfer_add_json (const LoomTransfer *transfer, LoomJson *json);
/* Adds metric i under its name: a number, null, or rows of numbers in brackets. */
void loom_trainer_eval_add_json (const LoomTrainerEval *eval, guint i, LoomJson *json);
const char *loom_trainer_device (const LoomTrainer *trainer);
LoomState *loom_trainer_state (const LoomTrainer *trainer);
/* Bytes by owner on the run's devices: state, and the arenas of every plan that is live (training, the last short
 * batch, evaluation, snapshots). On the compute thread, or where nothing runs. */
void loom_trainer_memory (const LoomTrainer *trainer, gsize bytes[LOOM_N_OWNERS]);
/* What the driver of a device says is in use there, by whomever: bytes. It is asked before anything of the run is
 * there, behind each plan, and once a second while it trains. */
typedef struct
{
  guint64 total;       /* how much there is */
  guint64 used;        /* as it was asked last */
  guint64 peak;        /* the most so far, what there was before the run included */
  guint64 before;      /* before anything of the run was there */
  guint64 first, last; /* the peak when the first step, and the last one, was over; 0: it is not */
  gint64 asked;        /* when, in µs of the monotonic clock */
} LoomTrainerDeviceMemory;
/* Of the run's device. FALSE where that shares the host's memory, or says nothing. Where loom_trainer_memory() may be
 * called. */
gboolean loom_trainer_device_memory (const LoomTrainer *trainer, LoomTrainerDeviceMemory *memory);

G_END_DECLS
