/* Shared by the files of the trainer: its struct and its parts.
 *
 * loom-trainer.c builds and frees it, trainer-loop.c runs it, trainer-evaluate.c evaluates, trainer-commands.c obeys
 * other threads, trainer-plans.c makes steps ready, trainer-data.c opens data sets, trainer-folder.c owns the run's
 * folder and events, trainer-checkpoint.c and trainer-state.c write what a run resumes from, trainer-restore.c reads
 * it, and trainer-snapshot.c is what observers look at, trainer-predict.c answers for samples of their own;
 * trainer-metrics.c gathers metrics, trainer-watch.c knows the best epoch, and trainer-transfer.c the weights that were
 * there before. */
#pragma once

#include "engine/core/loom-text.h"
#include "engine/data/loom-loader.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/loom-driver.h"
#include "engine/train/loom-step.h"
#include "engine/train/loom-trace.h"
#include "engine/train/loom-trainer.h"

G_BEGIN_DECLS

/* ---- options ---- */

/* Attributes that options have set. (transfer full) */
GPtrArray *trainer_given_new (void);
/* A copy of the graph with the options written into it; what they set is appended to given. */
LoomGraph *
trainer_apply_options (const LoomGraph *graph, const LoomTrainerOptions *options, GPtrArray *given, GError **error);
/* TRUE when there is no fault; else an error like that of loom_faults_to_error(), in which the faults of what an option
 * has set are the option's, and all faults are the options' where the graph without them (original) has none. */
gboolean
trainer_given_faults (const LoomGraph *original, const GPtrArray *given, const LoomFaults *faults, GError **error);

/* ---- data ---- */

/* The first n samples of a split in file order: an array of LoomTensor, one a port. */
GPtrArray *trainer_dataset_sample (const LoomDataset *dataset, LoomSplit split, gint64 n, GError **error);
/* Of the run's batches, a rank's part of each. */
LoomLoader *trainer_loader_new (LoomTrainer *t, LoomSplit split, gboolean shuffle, GError **error);
/* The split that evaluation uses: val, else test; LOOM_N_SPLITS when the data has neither. */
LoomSplit trainer_dataset_validation (const LoomDataset *dataset);
/* The split whose first samples observers see: that of evaluation, else the training samples. */
LoomSplit trainer_dataset_watched (const LoomDataset *dataset);
#define TRAINER_WORDS "words:"
/* The words of the first sample that observers see, at a port of the data set with whole numbers [B, T]: UTF-8, u8,
 * each ended by a 0; numbers where the data set has no names, nothing where a target does not count. PORT for other
 * ports. loom_trainer_snapshot() gives it for the port "words:data.x". */
LoomTensor *trainer_sample_words (const LoomTrainer *t, const char *port, GError **error);
/* FALSE with DATA where the data name more classes than a loss has scores. */
gboolean trainer_check_classes (LoomTrainer *t, GError **error);
/* Applies sample_weights to t->loader. */
gboolean trainer_weigh_samples (LoomTrainer *t, GError **error);
/* Applies drop_last to an epoch's short last batch: sets t->left_out and the loader, with a note where it is auto. A
 * batch that is to be kept and that a norm learns nothing from is a SHAPE error. */
gboolean trainer_drop_last (LoomTrainer *t, GError **error);

/* ---- steps made ready ---- */

typedef struct
{
  guint input, port;
  LoomTensor *wide; /* of a plan that computes in f64: where f32 data are widened to; else NULL */
} TrainerFeed;

/* A batch's tensor as the feed's input takes it. */
const void *trainer_feed_data (const TrainerFeed *feed, const LoomTensor *tensor);

typedef struct
{
  LoomStep *step;
  LoomExec *exec;
  gboolean averaged; /* an evaluation of the weights' moving averages */
  guint loss, finite, grad_norm;
  gboolean tells;               /* this rank's own loss, too */
  int own;                      /* it; -1: there is none */
  guint *term_sum, *term_count; /* outputs, for each term of the step's loss */
  guint *metric;
  guint n_feeds;
  TrainerFeed *feed;
} TrainerPlan;

TrainerPlan *trainer_plan_get (LoomTrainer *t, gint64 batch, gboolean training, GError **error);
/* Behind the first step: says why stages on GPUs have no link, where they have none. */
void trainer_tell_link (LoomTrainer *t, const TrainerPlan *plan);
/* TRUE if there is one already for training. */
gboolean trainer_plan_exists (const LoomTrainer *t, gint64 batch);
void trainer_plan_free (TrainerPlan *plan);
/* Where batches are accumulated: makes t->update ready, the step's other half. */
gboolean trainer_plan_update (LoomTrainer *t, GError **error);
/* TRUE if there are moving averages yet: there is one after the first step. */
gboolean trainer_has_averages (LoomTrainer *t);
/* The program then reads the averages instead of the weights. */
void trainer_use_averages (LoomTrainer *t, LoomProgram *program);
/* Program inputs that the data set's ports serve; an input that it does not serve is an error. */
gboolean trainer_plan_feeds (LoomTrainer *t, LoomProgram *program, guint *n_feeds, TrainerFeed **feeds, GError **error);

/* How a run's graph is lowered for looking at it: in evaluation mode, with the run's arithmetic, the `wanted` alone. */
LoomLowerOptions trainer_lower_options (const LoomTrainer *t, guint n, const LoomNetSource *wanted);
/* Seconds of each node of the net, which is bound to the sample's size. */
LoomTensor *trainer_measure_times (LoomTrainer *t, const LoomNet *net, const GPtrArray *sample, GError **error);

/* ---- the loss of several batches (trainer-loss.c) ---- */

/* Each term's sum over batches, and what it is to be divided by. */
typedef struct
{
  guint n;
  double *sum, *count;
} TrainerLoss;

void trainer_loss_clear (TrainerLoss *loss);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TrainerLoss, trainer_loss_clear)
/* Adds what the plan's newest run has computed. weight: what a mean over samples weighs; `first` forgets what was
 * there. */
void trainer_loss_add (TrainerLoss *loss, const TrainerPlan *plan, double weight, gboolean first);
/* The loss of all batches, whose weights are `all` together. */
double trainer_loss_value (const TrainerLoss *loss, const TrainerPlan *plan, double all);
/* TRUE if the next run leaves what trainer_loss_add() reads (loom_exec_keeps_output()). */
gboolean trainer_loss_keeps (const TrainerPlan *plan);

/* ---- where steps wait ---- */

/* A step begins, and is over; between them a lap adds the time since the last one to waits.data or waits.compute. What
 * is added to neither is the rest. */
void trainer_waits_begin (LoomTrainer *t);
void trainer_waits_lap (LoomTrainer *t, gint64 *kind);
void trainer_waits_end (LoomTrainer *t);

/* ---- parts (trainer-parts.c) ---- */

typedef struct
{
  const char *name; /* "An evaluation" */
  gint64 batch;
  gboolean training;
} TrainerPart;

#define TRAINER_MAX_PARTS 6

/* The parts of a run with this batch, the full step first: batches of other sizes for training, and evaluations.
 * Returns how many they are. */
guint trainer_find_parts (const LoomTrainer *t, gint64 batch, TrainerPart parts[TRAINER_MAX_PARTS]);

/* ---- room (trainer-room.c) ---- */

/* Where a plan of a run with this batch has found no memory, adds to the error what holds how much of it on the device
 * that lacks it, and which batch fits. */
void trainer_explain_room (LoomTrainer *t, gint64 batch, GError **error);
/* FALSE with OUT_OF_MEMORY, and the same words, where a plan that the run comes to later will find no room: before the
 * first step, behind trainer_plan_update(). */
gboolean trainer_check_room (LoomTrainer *t, GError **error);

/* ---- what the device's driver says (trainer-memory.c) ---- */

/* The device is open, and nothing of the run is there yet. */
void trainer_memory_begin (LoomTrainer *t);
void trainer_memory_ask (LoomTrainer *t);
void trainer_memory_begin_run (LoomTrainer *t);
/* A step is over; the driver is asked behind the first one, and at most once a second. */
void trainer_memory_step (LoomTrainer *t, gint64 now);
void trainer_memory_end_run (LoomTrainer *t);

/* ---- the next batch (trainer-ahead.c) ---- */

typedef struct
{
  gboolean is_wanted;     /* a device computes while the host goes on */
  const LoomBatch *batch; /* fetched and not asked for yet; NULL: none is */
  const TrainerPlan *fed; /* the plan that it is fed to and brought up for */
  GError *error;          /* why it could not be had */
} TrainerAhead;

gboolean trainer_ahead_init (LoomTrainer *t, const TrainerPlan *plan, GError **error);
/* Before the loader begins somewhere else. */
void trainer_ahead_drop (LoomTrainer *t);
/* While a step of the plan is computed. */
void trainer_ahead_fetch (LoomTrainer *t, TrainerPlan *plan);
/* loom_loader_next(), and feeding its batch. */
const LoomBatch *trainer_ahead_next (LoomTrainer *t, GError **error);
void trainer_ahead_feed (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch);

/* ---- steps that are read one step late (trainer-late.c) ---- */

/* What is queued and was not read: a step; where batches are accumulated one of its batches, or the update from them.
 */
typedef struct
{
  LoomExec *exec;    /* NULL: there is none */
  TrainerPlan *plan; /* NULL: the update */
  const LoomBatch *batch;
  gint64 number; /* the executor's */
  gint64 part;   /* which batch of the step it is, from 0 on */
  double share;  /* of the step's samples */
  double lr, samples;
  double loss, grad_norm; /* of the step, once it was read */
} TrainerUnread;

typedef struct
{
  gboolean is_wanted;
  TrainerUnread unread;
  double value;               /* its value */
  gboolean is_saved;          /* t->rollback has what the step in flight began from */
  gboolean checkpoint_is_due; /* when the state is that of t->place */
} TrainerLate;

/* Behind trainer_ahead_init(). */
void trainer_late_init (LoomTrainer *t, const TrainerPlan *plan);
/* A run begins: ranks read late together or not at all. */
gboolean trainer_late_agree (LoomTrainer *t, GError **error);
/* TRUE if the next step is read late. */
gboolean trainer_late_takes (LoomTrainer *t);
/* Queues a step and reads the one before it. */
gboolean trainer_late_step (LoomTrainer *t, GError **error);
/* How many steps were queued and not read whole: 0 or 1. */
gint64 trainer_late_steps (const LoomTrainer *t);
/* The last step is over and was read, and a checkpoint that was due is written. */
gboolean trainer_late_finish (LoomTrainer *t, GError **error);
/* A run has ended; where a step was left unread, because the one before it could not be noted, no checkpoint may be
 * written of this state. */
void trainer_late_drop (LoomTrainer *t);

/* ---- the lanes of a step ---- */

typedef struct
{
  char *path;           /* of the file that one step is written to; NULL: none is */
  gboolean is_optional; /* none may be written where there is no such step */
  gboolean is_written;
  gint64 at;       /* that step; 0: not decided yet */
  gboolean wanted; /* the next step is to be recorded, on all ranks; rank 0 or the only one is asked */
  gboolean active; /* this one is */
  gint64 begin;
  GArray *spans; /* LoomExecSpan of one run of a plan */
  GArray *lanes; /* LoomTraceSpan */
  char *text;    /* the newest trace, on rank 0; NULL: there is none yet */
} TrainerTrace;

/* Which step of a run that begins goes to the file: one behind some that warm up, or the last one. */
void trainer_trace_choose (LoomTrainer *t, gint64 last);
/* TRUE if the step of this number is to be recorded. */
gboolean trainer_trace_is_due (LoomTrainer *t, gint64 step);
/* A step begins; decides whether it is recorded. */
void trainer_trace_begin (LoomTrainer *t);
/* loom_exec_run() in a step that is recorded. */
gboolean trainer_trace_run (LoomTrainer *t, LoomExec *exec, GError **error);
/* Such a step has ended, on all ranks. */
gboolean trainer_trace_end (LoomTrainer *t, GError **error);
/* The newest trace as text, and a wish for the next. (transfer full) */
LoomTensor *trainer_trace_answer (LoomTrainer *t, GError **error);
void trainer_trace_free (TrainerTrace *trace);

/* ---- what views ask of all ranks (trainer-look.c) ---- */

enum
{
  TRAINER_LOOK_LOSSES = 1, /* of every step, as long as somebody asks */
  TRAINER_LOOK_MEMORY = 2  /* once */
};

typedef struct
{
  int wanted;     /* of rank 0, or the only one: what it is asked for */
  int on;         /* of all ranks alike: what the next step tells */
  gint64 asked;   /* when losses were asked for last, in µs */
  double own;     /* the loss of this rank's samples in the step; NaN: it has none of its own */
  guint64 before; /* bytes of the process as the trainer was made */
  double *kept;   /* rows of losses that nobody has asked for yet, on rank 0; NULL: nobody ever has */
  guint n_kept;
  double *all;    /* room for a loss of each rank */
  int64_t *bytes; /* room for what each sends */
  char *memory;   /* the newest, on rank 0; NULL: not known yet */
} TrainerLook;

void trainer_look_init (LoomTrainer *t);
/* What views ask of the ranks at present; on rank 0, which tells the others. */
int trainer_look_wanted (LoomTrainer *t);
/* A batch of a step that tells its loss was computed: so large a share of the step's samples. */
void trainer_look_batch (LoomTrainer *t, const TrainerPlan *plan, gint64 part, double share);
/* Such a step is over, on all ranks. */
gboolean trainer_look_step (LoomTrainer *t, double loss, GError **error);
/* A round of a parameter server is over, on all ranks; within it a step is, on rank 0, with the losses of the others.
 */
gboolean trainer_look_round (LoomTrainer *t, GError **error);
void trainer_look_served (LoomTrainer *t, double loss, const double *own);
/* A text as what a view is answered with: u8[bytes]. (transfer full) */
LoomTensor *trainer_text_answer (const char *text, GError **error);
/* LOOM_SNAPSHOT_LOSSES and LOOM_SNAPSHOT_RANKS. (transfer full) */
LoomTensor *trainer_losses_answer (LoomTrainer *t, GError **error);
LoomTensor *trainer_memory_answer (LoomTrainer *t, GError **error);
void trainer_look_free (TrainerLook *look);

/* ---- the state that views look at (trainer-seen.c) ---- */

typedef struct
{
  GHashTable *value;  /* LoomTensor by slot, of rank 0; there on all ranks, NULL: nobody has asked */
  gint64 step, epoch; /* after which they are so */
  LoomState *state;   /* what views compute over, of these values; NULL: nothing is computed */
  char *why_not;      /* it could not be made of them; NULL: it could */
} TrainerSeen;

/* ---- metrics ---- */

/* Statistics of an epoch so far, or of an evaluation. */
typedef struct
{
  const LoomTrainSpec *spec;
  guint n;
  guint *size, *at; /* of each metric in total[] */
  double *total, *weight;
  double *batch; /* room for one batch's */
} TrainerMetrics;

TrainerMetrics *trainer_metrics_new (const LoomTrainSpec *spec, const LoomStep *step);
void trainer_metrics_free (TrainerMetrics *metrics);
void trainer_metrics_clear (TrainerMetrics *metrics);
/* After a step of the plan, which had the same metrics. */
gboolean trainer_metrics_take (TrainerMetrics *metrics, TrainerPlan *plan, GError **error);
/* What another one has counted, too. */
void trainer_metrics_merge (TrainerMetrics *metrics, const TrainerMetrics *other);
/* How many statistics all metrics have. save and load copy those and then each metric's weight. */
guint trainer_metrics_count (const TrainerMetrics *metrics);
void trainer_metrics_save (const TrainerMetrics *metrics, double *sums);
void trainer_metrics_load (TrainerMetrics *metrics, const double *sums);
/* The values so far. */
void trainer_metrics_values (const TrainerMetrics *metrics, double *value);
/* The rows and columns of the i-th metric, 0 where it is no matrix. */
guint trainer_metrics_matrix (const TrainerMetrics *metrics, guint i);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TrainerMetrics, trainer_metrics_free)

/* ---- figures of the last steps (trainer-recent.c) ---- */

typedef struct
{
  gint64 steps;
  double loss, samples; /* weighed by samples; their sum */
  TrainerMetrics *metrics;
} TrainerBlock;

typedef struct
{
  int n_blocks;  /* that are shown: 1 or 2 */
  gint64 length; /* steps of a block */
  gboolean is_full;
  TrainerBlock block[2]; /* the newer one first */
  TrainerMetrics *both;
} TrainerRecent;

void
trainer_recent_init (TrainerRecent *recent, const LoomTrainSpec *spec, const LoomStep *step, gint64 steps_per_epoch);
void trainer_recent_clear (TrainerRecent *recent);
/* Where the step that is being taken is counted. */
TrainerMetrics *trainer_recent_metrics (TrainerRecent *recent);
/* The step is over; `left` others follow in the epoch. */
void trainer_recent_step (TrainerRecent *recent, double loss, double samples, gint64 left);
/* Sets recent_steps and recent_loss, and the metrics' values. */
void trainer_recent_values (TrainerRecent *recent, LoomTrainerStep *step, double *metric);

/* ---- rollback of a step of several batches ---- */

typedef struct _TrainerRollback TrainerRollback;
TrainerRollback *trainer_rollback_new (const LoomProgram *program, const TrainerMetrics *metrics);
void trainer_rollback_free (TrainerRollback *rollback);
/* TRUE if there is something to fetch from the device, which waits for it. */
gboolean trainer_rollback_has_slots (const TrainerRollback *rollback);
/* Before the first batch, and after one that has failed. */
gboolean trainer_rollback_save (LoomTrainer *t, GError **error);
void trainer_rollback_restore (LoomTrainer *t);

/* ---- best and last epoch ---- */

/* Notes an epoch's value in *watch, of which `watch` is a copy. TRUE where it is the best so far. */
gboolean trainer_watch_epoch (const LoomTrainSpec *spec, LoomTrainerWatch *watch, gint64 epoch, double value);

/* ---- initial weights from a file -- */

gboolean trainer_transfer (LoomTrainer *t, GError **error);
void trainer_transfer_free (LoomTransfer *transfer);

/* ---- events ---- */

typedef struct
{
  gint64 step, epoch;
  double loss, lr;
} TrainerPoint;

#define TRAINER_POINTS 512

typedef struct
{
  int fd; /* -1: nothing is written */
  guint n;
  TrainerPoint point[TRAINER_POINTS];
} TrainerEvents;

/* The folder of a new run: refuses one that holds a run already. */
gboolean trainer_folder_create (LoomTrainer *t, const char *folder, GError **error);
/* The folder of a resumed run; events are cut to the length that the checkpoint knew (t->place). Where options
 * have changed what runs, the folder's graph.xml and run.json are written anew. */
gboolean trainer_folder_open (LoomTrainer *t, const char *folder, gboolean changed, GError **error);
gboolean trainer_events_flush (LoomTrainer *t, GError **error);
/* A line of events.jsonl: begun with its event; written, behind what waits, and freed. */
LoomJson *trainer_event_new (const char *event);
gboolean trainer_event_write (LoomTrainer *t, LoomJson *json, GError **error);
gboolean trainer_events_eval (LoomTrainer *t, const LoomTrainerEval *eval, GError **error);
void trainer_events_close (TrainerEvents *events);

/* ---- checkpoints ---- */

/* Writes state.json. */
gboolean trainer_state_write (LoomTrainer *t, LoomFolder *folder, const char *name, GError **error);
/* Writes one for the place between two steps; path (transfer full) may be NULL. */
gboolean trainer_checkpoint_write (LoomTrainer *t, char **path, GError **error);
/* The weights, or their moving averages where there are some, as a file of the run's folder, if it has one. */
gboolean trainer_checkpoint_weights (LoomTrainer *t, const char *name, GError **error);
/* Restores the newest whole one; where there is none, the run begins anew and t->place stays as it is. */
gboolean trainer_restore (LoomTrainer *t, const char *folder, GError **error);

/* ---- snapshots ---- */

/* Asks for a port's value, or, with samples, for the answer to them. */
typedef struct
{
  const char *port;
  const LoomTensor *samples;
  LoomTensor *result;
  gint64 step, epoch;
  double seconds; /* for which the run stood still; of samples */
  GError *error;
  gboolean done;
} TrainerRequest;

/* trainer-seen.c */
void trainer_seen_free (TrainerSeen *seen);
/* Whether views see a copy, because ranks have parts of what a model computes with. */
gboolean trainer_seen_is_copy (const LoomTrainer *t);
/* Whether a request, or a command to pause, wants the ranks to put their parts together; on rank 0. */
gboolean trainer_seen_is_wanted (LoomTrainer *t);
/* They do; all ranks call it together. */
gboolean trainer_seen_gather (LoomTrainer *t, GError **error);
/* The run ends as it should, on all ranks: where somebody looks it is seen as it ended. */
void trainer_seen_end (LoomTrainer *t);
/* Before a step: keeps the state that it is computed with, if the run is shown and may stand still after the step. */
gboolean trainer_seen_keep (LoomTrainer *t, gboolean may_stand, GError **error);
/* Before a port: the state as it is, also while the run stands still. */
#define TRAINER_NOW "now:"
/* What a snapshot is of. While the run stands still: the state that the last step was computed with, to which its loss
 * and its gradients belong. Else the state as it is, with which the next step is computed. */
TrainerSeen *trainer_seen_of_step (LoomTrainer *t);
/* For t->seen the run's own, or the copy. SHAPE where there is none yet, OUT_OF_MEMORY where it could not be made. */
LoomState *trainer_seen_state (LoomTrainer *t, TrainerSeen *seen, GError **error);
/* After all slots are declared there. */
gboolean trainer_seen_fill (LoomTrainer *t, TrainerSeen *seen, GError **error);
/* Before each computation over it: learning rates and such may have been set since. */
void trainer_seen_scalars (LoomTrainer *t, TrainerSeen *seen);
/* A slot of the run's, whole. (transfer full) */
LoomTensor *trainer_seen_get (LoomTrainer *t, TrainerSeen *seen, const char *name, GError **error);
/* The number of updates that the state which answers a request has taken, and the epoch of the last. */
gint64 trainer_seen_step (const LoomTrainer *t, const TrainerSeen *seen, const TrainerRequest *request);
gint64 trainer_seen_epoch (const LoomTrainer *t);
/* FALSE: it waits until the parts are put together, before the next step. */
gboolean trainer_seen_can_answer (const LoomTrainer *t, const TrainerRequest *request);
/* FALSE: the next step keeps first what it is computed with. */
gboolean trainer_seen_can_pause (const LoomTrainer *t);
/* Adds what the copy takes. */
void trainer_seen_memory (const LoomTrainer *t, gsize bytes[LOOM_N_OWNERS]);

/* Requests that are answered from here on see the state as it is now; several between two steps share a run of the
 * plan. */
void trainer_snapshot_round (LoomTrainer *t);
/* Answers one request, on the compute thread or where none computes. */
void trainer_snapshot_answer (LoomTrainer *t, TrainerRequest *request);
void trainer_predict_answer (LoomTrainer *t, TrainerRequest *request);
/* Puts a request and waits until it is answered; its result (transfer full), or NULL with its error. */
LoomTensor *trainer_ask (LoomTrainer *t, TrainerRequest *request, GError **error);
typedef struct _TrainerSnapshots TrainerSnapshots;
void trainer_snapshots_free (TrainerSnapshots *self);
/* That computes what views look at; NULL: nobody looks. */
LoomExec *trainer_snapshots_exec (const TrainerSnapshots *self, const TrainerSeen **of);
/* trainer-nodes.c: LOOM_SNAPSHOT_NODES */
LoomTensor *trainer_nodes_answer (LoomTrainer *t, GError **error);
typedef struct _TrainerServer TrainerServer;
typedef struct _TrainerAnswers TrainerAnswers;
void trainer_answers_free (TrainerAnswers *self);

/* ---- the trainer ---- */

typedef struct
{
  LoomCommandKind kind;
  char *name;
  double value;
} TrainerCommand;

/* Where a run is: exactly what state.json holds of it, beside what says which run it is. */
typedef struct
{
  gint64 step, epoch, batch;   /* finished steps; epoch from 0; steps done in it */
  double loss_sum, sample_sum; /* of the epoch so far */
  TrainerMetrics *metrics;     /* likewise */
  LoomTrainerWatch watch;      /* where <train> keeps the best weights */
  double base_lr;              /* what the schedule starts from */
  double *group_lr;            /* the same of each group in TrainerRates */
  LoomPlateau plateau;         /* where the schedule watches the loss */
  gint64 events_length;        /* of events.jsonl */
} TrainerPlace;

void trainer_place_clear (TrainerPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TrainerPlace, trainer_place_clear)

/* The learning rate of a group that has one of its own. */
typedef struct
{
  char *slot_name;
  int slot;
  double now; /* what the slot holds; NaN: not known */
} TrainerRate;

/* Rates in force, so that a slot is written only where its rate changes. */
typedef struct
{
  double lr;
  int lr_slot; /* in the state; -1: the optimiser has none */
  guint n_groups;
  TrainerRate *group; /* in the order of TrainerPlace.group_lr */
  int momentum_slot;  /* which a schedule cycles; -1: none */
  double momentum;
} TrainerRates;

/* Times in µs. The clock is read rarely: it costs as much as a small step's bookkeeping. */
typedef struct
{
  gint64 next_step, stride; /* when it is read next, and how many steps lie between */
  gint64 start_time, last_time;
  gint64 last_checkpoint, checkpoint_interval, checkpoint_cost;
  gint64 saved_step; /* of the newest checkpoint; 0 where there is none */
  double items_since, items_per_second, eta_seconds;
} TrainerClock;

/* Where steps wait, in µs. */
typedef struct
{
  gboolean begun, timed;                /* a step was begun; this one is measured */
  gint64 start, mark, data, compute;    /* of this step */
  gint64 n, all, all_data, all_compute; /* steps that were measured, and their sums */
} TrainerWaits;

/* Commands and requests of other threads, and whether the run is paused. */
typedef struct
{
  GMutex lock;
  GCond wake, answered;
  gint pending;    /* atomic: the queues are not empty, or the run is paused */
  GQueue commands; /* TrainerCommand */
  GQueue requests; /* TrainerRequest */
  gboolean active; /* a thread computes */
  gboolean over;   /* there is no other step, and what still waits is answered */
  gboolean paused;
  gboolean single; /* one step is to be made while it is paused */
} TrainerInbox;

struct _LoomTrainer
{
  LoomGraph *graph; /* frozen, with the options written into it */
  LoomNet *net;     /* symbolic */
  LoomTrainSpec *spec;
  LoomDevices *devices;
  LoomState *state;
  char *device;
  int threads;
  char *data_folder;
  char *folder;            /* the run's; NULL: nothing is written */
  LoomFolder *files;       /* the same, through which its files are reached */
  LoomComm *comm;          /* NULL: it is the only rank */
  LoomMesh mesh;           /* of its ranks */
  gboolean keeps;          /* the run is written, by this rank or another */
  gboolean checkpoint_due; /* of rank 0: all are to write one before the next step */
  TrainerServer *server;   /* NULL: there is none */
  GArray *set_since;       /* of rank 0: what the others have not heard of */
  int ranks; /* with parts of a batch, when the run began: its batch size is so many times that of <train> */

  LoomDataset *dataset;
  char *port_name[LOOM_DATASET_MAX_PORTS]; /* "data.x": what the program calls it */
  LoomLoader *loader;                      /* of the training split */
  LoomLoader *eval_loader[LOOM_N_SPLITS];  /* made when first wanted */
  gint64 steps_per_epoch, total_steps;
  TrainerRecent recent;
  gint64 max_steps; /* ends there, where total_steps are more; 0: no such end */
  gint64 left_out;  /* samples of each epoch's end: drop_last */

  GPtrArray *plans, *eval_plans; /* TrainerPlan: a handful */
  LoomExec *update;              /* the other half of a step that accumulates batches; else NULL */
  guint update_norm;
  TrainerRollback *rollback;             /* with it */
  int weight_slot, first_slot, rng_slot; /* which part of a step that accumulates a batch is; -1: none */
  int carry_slot;                        /* which batch of an epoch it is, where a state is carried on; -1: none */
  const LoomDriver *driver;              /* NULL: the optimiser is part of the program */
  TrainerSnapshots *snapshots;
  TrainerAnswers *answers;

  TrainerPlace place;
  TrainerRates rates;
  TrainerClock clock;
  TrainerWaits waits;
  TrainerAhead ahead;
  TrainerLoss loss; /* of the batches of the step that were read */
  TrainerLate late;
  TrainerTrace trace;
  TrainerLook look;
  TrainerSeen seen, last; /* last: what the last step was computed with */
  TrainerInbox inbox;
  LoomTrainerDeviceMemory device_memory; /* total 0: the device has no memory of its own */

  double *metric_value; /* room for an observer's */
  const char **metric_name;
  double eval_loss, *eval_value; /* of the last evaluation: loss and metrics */
  LoomTransfer *transfer;        /* NULL: it began from nothing but the seed */

  gboolean link_told;              /* how stages exchange, where that is to be told */
  gboolean weights_overflow;       /* the weights make the next batch overflow, whatever the learning rate */
  gboolean mid_step_failure;       /* a driver has failed within a step: the state is of no step */
  char *failed_node, *failed_port; /* where it failed */
  GString *notes;                  /* what its owner should read, a line each */

  TrainerEvents events;
  gint64 event_stride; /* a step's point is kept every so many steps, so that events stay bounded */

  LoomTrainerObserver observer;
  gpointer observer_data;
  const char *shown_state;
};

/* ---- commands ---- */

typedef enum
{
  TRAINER_CONTINUE,
  TRAINER_STOP,
  TRAINER_INTERRUPT
} TrainerAction;

/* Reads both queues, and waits there while the run is paused. FALSE on an error of its own (a checkpoint that
 * could not be written). Where a command ends the run, action says so; with leave_ending the command stays in the
 * queue, for the caller that gives way and the one that ends. A single step stays asked for until the caller that makes
 * it clears t->inbox.single. */
gboolean trainer_poll (LoomTrainer *t, gboolean leave_ending, TrainerAction *action, GError **error);
/* One that pauses the run, at once or after a step. */
gboolean trainer_command_pauses (const TrainerCommand *command);
/* TRUE when a command waits that ends the run; evaluation then gives way. */
gboolean trainer_must_end (LoomTrainer *t);
/* Answers what asks for a snapshot; with the lock held, which is let go meanwhile. */
void trainer_answer_requests (LoomTrainer *t);

/* trainer-evaluate.c. *gave_way is set where an ending command came before the last batch; nothing is reported then. */
gboolean trainer_evaluate (LoomTrainer *t, LoomSplit split, gboolean *gave_way, GError **error);
void trainer_feed_batch (TrainerPlan *plan, const LoomBatch *batch);

/* trainer-loop.c: what is done before a step, and behind one. */
/* Rates and scheduled values are those behind so many steps of the run. */
void trainer_set_rates (LoomTrainer *t, gint64 step);
/* The samples of an epoch's step, all its batches together. */
double trainer_step_samples (const LoomTrainer *t, gint64 batch);
/* Which batch of which step of the run and of the epoch comes next, with which share of the step's samples. */
void trainer_set_part (LoomTrainer *t, gint64 step, gint64 batch, gint64 part, double share);
/* loss is the mean over so many samples. */
void trainer_count_step (LoomTrainer *t, double loss, double samples);
/* Keeps the step's point, and looks at the clock. */
gboolean trainer_note_step (LoomTrainer *t, double loss, double lr, gboolean *checkpoint_is_due, GError **error);
void trainer_tell_step (LoomTrainer *t, gint64 number, double loss, double lr, double grad_norm);
/* A batch has failed, and nothing of it was written; it is still there to be looked at. Always FALSE. */
gboolean
trainer_explain_failure (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, GError *failure, GError **error);
/* The update from accumulated batches has failed; takes the failure. Always FALSE. */
gboolean trainer_explain_update (const LoomTrainer *t, GError *failure, GError **error);

/* ---- parameter server ---- */

/* Where <train> has strategy="server" and there are ranks to serve: NULL elsewhere. Before the first plan. */
TrainerServer *trainer_server_new (LoomTrainer *t, GError **error);
void trainer_server_free (TrainerServer *server);
/* Of the ranks that train, the place of this one and how many they are; rank 0, which serves, has the first one's. */
void trainer_server_part (const LoomTrainer *t, int *rank, int *ranks);
/* So many of an epoch's steps at most, and at least one: all ranks call it together and leave it with the same
 * weights. */
gboolean trainer_server_round (LoomTrainer *t, gint64 steps, GError **error);

/* ---- ranks ---- */

/* FALSE, with the sentence of the ranks, where they could not exchange something. */
gboolean trainer_ok (LoomStatus status, const LoomMessage *message, GError **error);
/* How the ranks lie, after the spec was read; DIST where they cannot lie as <parallel> says. begins: a run, which is
 * told what <parallel> wants where there is one rank alone. */
gboolean trainer_open_mesh (LoomTrainer *t, gboolean begins, GError **error);
/* Says that a run which had `before` ranks goes on with one. */
void trainer_note_ranks (LoomTrainer *t, int before);
/* A call of all ranks, which agree on what they are about to do, before the first step. */
gboolean trainer_join_mesh (LoomTrainer *t, GError **error);
/* For plans; NULL: there is one rank. */
const LoomMesh *trainer_mesh (const LoomTrainer *t);
/* The step's programs become this rank's part of them, where there are several ranks. */
gboolean trainer_divide_step (LoomTrainer *t, LoomStep *step, GError **error);
/* Cuts the steps of the run's other parts into stages, too, behind the full step's plan, so that what a pipeline cannot
 * do is said before the first step. Their plans are made when they are needed. */
gboolean trainer_try_stages (LoomTrainer *t, GError **error);
/* TRUE if a checkpoint is written by this rank, or with parts of the state that it has. */
gboolean trainer_takes_part (const LoomTrainer *t);
/* What rank 0 knows, where ranks have to do alike because each has a part of the state; else what this one does. FALSE
 * on an error. */
gboolean trainer_rank_0_says (LoomTrainer *t, gboolean yes, GError **error);
/* Where each rank has a part of the state: whether any rank says yes, so that all do the same; else what this one says.
 */
gboolean trainer_any_rank (LoomTrainer *t, gboolean yes);
/* The values of a program's slots, whole, in a state of its own: all ranks ask together. */
LoomState *trainer_whole_state (LoomTrainer *t, const LoomProgram *program, GError **error);
/* In the place of trainer_poll() where there are ranks: rank 0 does what it was asked for, and all do the same. DIST
 * where a rank is gone. */
gboolean trainer_agree (LoomTrainer *t, TrainerAction *action, GError **error);
/* The other ranks will be told of a value that was set on this one. */
void trainer_note_hyper (LoomTrainer *t, const char *name, double value);

/* trainer-commands.c */
gboolean trainer_set_hyper (LoomTrainer *t, const char *name, double value, GError **error);

void trainer_set_state (LoomTrainer *t, const char *state);
void trainer_note (LoomTrainer *t, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Names the node where a value that is not finite first appeared in the step that has just failed, with the batch still
 * fed, and puts the state back to before it. Always an error. */
void trainer_explain_nan (LoomTrainer *t, TrainerPlan *plan, const LoomBatch *batch, GError **error);

G_END_DECLS
