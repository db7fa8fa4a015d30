/* A training run: data set → batches → plan → metrics → events → checkpoints.
 *
 * The command line and the worker both drive this object; neither knows how a step works. All calls are made from one
 * thread (the compute thread) except loom_trainer_post(), which may come from any. Observers are called on the
 * compute thread between steps and must be quick. */
#pragma once

#include "engine/infer/loom-answer.h"
#include "engine/run/loom-exec.h"
#include "engine/infer/loom-derivative.h"
#include "engine/train/loom-train-commands.h"
#include "engine/train/loom-train-observer.h"
#include "engine/train/loom-train-options.h"
#include "engine/train/loom-walk-command.h"
#include "engine/train/run-fingerprint.h"
#include "engine/train/view-costs.h"

/* Opens devices and data, plans, and initialises or restores. graph may be NULL if options->resume is set. Errors have
 * the domain's codes; faults of the graph are one error with all sentences. */
LoomTrainer *loom_trainer_new (const LoomGraph *graph, const LoomTrainerOptions *options, GError **error);

/* Notes for the user that are no errors (a damaged checkpoint was skipped, bits may differ), one per line; NULL if
 * there are none. */
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

/* Runs until the last epoch, a stop, or an error. If interrupted (a posted "interrupt") it finishes the step, writes a
 * checkpoint and returns INTERRUPTED with CANCELLED. A NaN loss is a NAN error: the batch is computed again by the
 * eager executor, and the error names the node at which the NaN arose; the state is that before the step. */
LoomTrainerEnd loom_trainer_run (LoomTrainer *trainer, GError **error);
/* Sets the step of the run after which the next loom_trainer_run() ends as stopped; the following call continues, and
 * the steps are the same as those of a single run. 0: no limit. To be called only between runs; initially it is
 * LoomTrainerOptions.steps. */
void loom_trainer_set_last_step (LoomTrainer *trainer, gint64 step);
/* The node at which the run failed, and the name of its output in *port if known (NULL otherwise; port may be NULL).
 * NULL if the failure belongs to no node, or there was none. */
const char *loom_trainer_get_failed_node (const LoomTrainer *trainer, const char **port);
/* Evaluates a split over all its samples ("val" falls back to "test"), with the moving averages of the weights if
 * <train> sets them and there was a step, else with the weights. */
gboolean loom_trainer_evaluate (LoomTrainer *trainer, const char *split, GError **error);

/* Posts a command, on any thread; it is read between steps, and each change is written to events.jsonl. */
void loom_trainer_post (LoomTrainer *trainer, LoomCommandKind kind, const char *name, double value);

/* Returns FALSE with USAGE, and a sentence for the user, if SET_HYPER does not accept this value: of the optimiser
 * ("lr", "momentum", …), of an operator ("drop.p"), of clipping ("clip_norm"), or "batch_size", of a rank. A batch size
 * with which the run cannot continue, for example because its memory is not sufficient, is refused by a note. On any
 * thread. */
gboolean loom_trainer_check_hyper (LoomTrainer *trainer, const char *name, double value, GError **error);
/* The current learning rate before its schedule: from the graph, the options, the checkpoint or SET_HYPER. To be called
 * on the run's thread (in an observer), or before it. */
double loom_trainer_base_lr (LoomTrainer *trainer);

/* A snapshot of a port (a weight is one, too; "grad:PORT": its gradient) for a fixed batch of samples, from a separate,
 * unfused plan over the same state: commits nothing and draws no random numbers of the run. Callable on any thread
 * during the run: the request is served between steps.
 *
 * *step: the number of updates that the weights had taken. While a run with an observer of its memory is paused or over
 * after step N, it is N - 1: loss, values, gradients and weights are those of step N, before its update. While the run
 * continues it is N: they are those with which step N + 1 begins. It is also N if no step came before the pause, if the
 * run has several ranks, if the memory was not sufficient for a copy of the weights, or for "now:PORT", the current
 * state.
 *
 * "update:WEIGHT": the change of a weight by one step, its values after the step without those before it. While the run
 * continues, the request waits for the next step, before which the weights are copied. *step is N - 1 for the update of
 * step N. PORT before the first step, in a run of several ranks, or if the memory was not sufficient for a copy.
 *
 * LOOM_SNAPSHOT_TIMES as the port: the seconds of each node of the net for the fixed batch, forward and backward and
 * unfused, f32 in the order of loom_net_node(). This takes as long as a few steps.
 *
 * LOOM_SNAPSHOT_SAMPLES: the number of samples in the fixed batch, f32[1]: at most 32; 0 without data.
 *
 * LOOM_SNAPSHOT_TRACE: the trace of the last recorded step as the text of a trace file (loom-trace.h), u8; the next
 * step is then recorded.
 *
 * LOOM_SNAPSHOT_NODES: the memory that the run has allocated on this rank, by node: u8, a JSON object with the members
 * of loom_node_bytes_add_json() per line, the largest first. Their sum is loom_trainer_memory().
 *
 * LOOM_SNAPSHOT_HEALTH: u8, the lines of loom_health_to_text() for a fixed batch of its own and the current state:
 * norms of weights, gradients and updates, dead and saturated units, and a verdict, by node. Costs about a training
 * step with a batch of that size.
 *
 * LOOM_SNAPSHOT_COSTS: u8, for each view (a port, "predict" for loom_trainer_predict(), "weights" for
 * loom_trainer_weights()) a line {"view":s,"requests":n,"seconds":x}: the time that its requests have taken between
 * steps, without the first one, which plans.
 *
 * LOOM_SNAPSHOT_LOSSES, on rank 0: u8, for each step since the last request a line {"step":n,"loss":x,"ranks":[x,…]}:
 * the loss, and the loss of each rank's samples, null if a rank has no samples of its own (sharded weights, stages).
 * The mean of these, weighted by the ranks' samples, is the loss. The first request starts the recording, which ends
 * some seconds after the last one.
 *
 * LOOM_SNAPSHOT_RANKS, on rank 0: u8, for each rank a line
 * {"rank":n,"process":n,"device":s,"bytes":{owner:n,…},"held":n, "process_before":n,"process_now":n,"process_most":n}:
 * the memory of its state and plans, and of its process when the run began, now, and at most; for a device with its own
 * memory also "device_used" and "device_total". The values are those after the step that followed the previous request;
 * empty before. */
LoomTensor *loom_trainer_snapshot (LoomTrainer *trainer, const char *port, gint64 *step, GError **error);

/* Calls a function on the compute thread after the step in progress, with the state of loom_trainer_steps(), or at once
 * if the run is not running. Callable on any thread. In it loom_trainer_snapshot() answers at once. */
void loom_trainer_between_steps (LoomTrainer *trainer, void (*call) (gpointer data), gpointer data);

/* Computes the net's current predictions for samples f32 [n, …] of the shape of the input port, converted to its type.
 * The prediction's port and the meaning of its numbers are determined as by loom_predictor_new(), and averages of
 * weights are used as in an evaluation. others: if the prediction depends on more ports of the data, their values f32
 * [n, …], LoomNamedTensor by the port's name ("data.length"); NULL: none. (transfer full), n LoomAnswer. Callable like
 * loom_trainer_snapshot(), and without effect on the run. Errors: PORT if the prediction is ambiguous, SHAPE for
 * samples of another shape, USAGE if the values of a port are missing. moment may be NULL. */
GPtrArray *loom_trainer_predict (LoomTrainer *trainer, const LoomTensor *samples, const GPtrArray *others,
                                 LoomTrainerMoment *moment, GError **error);

/* Copies of all weights and buffers, LoomNamedTensor, by which a predictor computes without the trainer
 * (LoomPredictorOptions.values): averages in place of weights as in an evaluation. Callable like
 * loom_trainer_snapshot(), and without effect on the run. moment may be NULL; its seconds are 0. (transfer full) */
GPtrArray *loom_trainer_weights (LoomTrainer *trainer, LoomTrainerMoment *moment, GError **error);
/* Shows the run as it was after one of its steps; -1: as it is. Snapshots, predictions and evaluations are then of that
 * step. Only while the run is paused or over: whatever changes or continues it returns first. The steps since the
 * nearest checkpoint are computed again, with the same bits. *moment: the step that is shown, and the time this took;
 * may be NULL. Callable like loom_trainer_snapshot(). Errors: USAGE if the run is not paused, not saved, has several
 * ranks or no such step; DATA, IO. */
gboolean loom_trainer_travel (LoomTrainer *trainer, gint64 step, LoomTrainerMoment *moment, GError **error);
/* The graph of the run, with all options in its <train>. */
const LoomGraph *loom_trainer_graph (const LoomTrainer *trainer);

/* Walks the next step of the run node by node (step-walk.h), without an effect on the run: commits nothing, consumes no
 * batch and draws no random number. *step is its number, from 1. With several ranks it is walked on the samples of one,
 * up to the update, over whole weights: those that the ranks have gathered if each has a part. Callable like
 * loom_trainer_snapshot(). Errors: USAGE without a walk, of a parameter server, or before an update of several ranks;
 * those of loom-stepper.h. */
gboolean loom_trainer_walk (LoomTrainer *trainer, const LoomWalkCommand *command, LoomStepperPlace *place, gint64 *step,
                            GError **error);
/* After loom_trainer_walk(): the rank whose samples it walks, the one that met a breakpoint at this step, else the
 * first; -1: the run has one rank. */
int loom_trainer_walk_rank (const LoomTrainer *trainer);
void loom_trainer_end_walk (LoomTrainer *trainer);
/* The values of n ports, or with LOOM_PORT_GRADIENT before a name its gradient; a weight's name is a port, too. */
gboolean loom_trainer_walk_values (LoomTrainer *trainer, guint n, const char *const *port, LoomPortSummary *value,
                                   GError **error);
/* One of them whole, to be multiplied by *scale. NULL without error: not known. (transfer full) */
LoomTensor *loom_trainer_walk_port (LoomTrainer *trainer, const char *port, double *scale, GError **error);
/* The chain rule for one element of a port, from it to the loss, where the walk stands after its backward pass: an
 * array of LoomDerivative. *value and *gradient: of the element. Errors: PORT, USAGE, and those of differentiation. */
GArray *loom_trainer_derivatives (LoomTrainer *trainer, const char *port, gint64 element, double *value,
                                  double *gradient, GError **error);
/* Replaces the breakpoints of a run, before a command that is posted later is obeyed; does not wait. At one, training
 * pauses before the weights change, and the next step is taken without a test. Conditions other than not_finite cost
 * about a second forward and backward pass in each step; not_finite costs nothing until a step is not finite, but steps
 * are no longer queued on a GPU. */
void loom_trainer_set_breakpoints (LoomTrainer *trainer, const LoomBreakpoint *list, guint n);

/* On the compute thread (in an observer), or between runs. */
void loom_trainer_waits (const LoomTrainer *trainer, LoomTrainerWaits *waits);

/* Since loom_trainer_new(), on rank 0. */
LoomStaleness loom_trainer_staleness (const LoomTrainer *trainer);

const LoomNet *loom_trainer_net (const LoomTrainer *trainer);
const LoomTrainSpec *loom_trainer_spec (const LoomTrainer *trainer);
gint64 loom_trainer_steps (const LoomTrainer *trainer); /* finished steps */
gint64 loom_trainer_total_steps (const LoomTrainer *trainer);
/* TRUE if no step is left: all epochs are done, or the run has ended early. */
gboolean loom_trainer_is_over (const LoomTrainer *trainer);
/* TRUE if the step of LoomTrainerOptions.trace has been written. */
gboolean loom_trainer_has_traced (const LoomTrainer *trainer);
/* NULL if there was no file of initial weights, or the run is resumed from a checkpoint. */
const LoomTransfer *loom_trainer_transfer (const LoomTrainer *trainer);
/* The command that resumes a run with a folder, with as many ranks if all are on this machine. (transfer full) */
char *loom_trainer_resume_words (const LoomTrainer *trainer);

/* Hashes of the properties that must be equal on all ranks (run-fingerprint.h). trainer may be NULL: zeros. */
void loom_trainer_fingerprint (const LoomTrainer *trainer, guint64 part[LOOM_TRAINER_N_PARTS]);
const char *loom_trainer_device (const LoomTrainer *trainer);
LoomState *loom_trainer_state (const LoomTrainer *trainer);
/* Bytes by owner on the run's devices: state, and the arenas of all current plans (training, the incomplete last batch,
 * evaluation, snapshots). On the compute thread, or between runs. */
void loom_trainer_memory (const LoomTrainer *trainer, gsize bytes[LOOM_N_OWNERS]);
/* Of the run's device. FALSE if it shares the host's memory, or has no figures. To be called like
 * loom_trainer_memory(). */
gboolean loom_trainer_device_memory (const LoomTrainer *trainer, LoomTrainerDeviceMemory *memory);
