/* Shared by the files of `gradloom worker`.
 *
 * Two threads matter. The compute thread (worker-runner.c) builds and drives trainers. The serve thread (worker.c,
 * worker-methods.c) owns the bus connection. What the first reports to Studio passes through the outbox
 * (worker-outbox.c), commands the other way through the trainer's own queue. A third thread waits for snapshots, so
 * that a long step does not hold up Pause. */
#pragma once

#include "engine/loom-run.h"

#include "loom-worker-bus.h"

/* ---- outbox: bounded, even if Studio is stopped ------------------- */

/* A run with more is refused, so that no curve is missing silently. */
#define WORKER_MAX_METRICS 16

typedef struct _WorkerOutbox WorkerOutbox;

WorkerOutbox *worker_outbox_new (LoomBusWorker1 *bus, GDBusConnection *connection);
void worker_outbox_free (WorkerOutbox *outbox);
/* Begins a run, on the compute thread: names of metrics and totals of Progress. Unsent points and evaluations of the
 * run before are dropped, because they have other metrics and step numbers. */
void worker_outbox_begin (WorkerOutbox *outbox, const char *const *metric_name, guint n_metrics, gint64 total_steps,
                          gint64 epochs);
/* From the compute thread. total_steps 0: as the run began. */
void worker_outbox_step (WorkerOutbox *outbox, const LoomTrainerStep *step);
/* On any thread. */
void worker_outbox_state (WorkerOutbox *outbox, const char *state, const char *message);
void worker_outbox_eval (WorkerOutbox *outbox, const LoomTrainerEval *eval);
void
worker_outbox_problem (WorkerOutbox *outbox, const char *code, const char *node, const char *port, const char *message);
void worker_outbox_base_lr (WorkerOutbox *outbox, double lr);
/* Sent with the next points. */
void worker_outbox_waits (WorkerOutbox *outbox, const LoomTrainerWaits *waits);
/* driver: for a device with its own memory; total 0: no figures. */
void worker_outbox_memory (WorkerOutbox *outbox, const char *device, const gsize bytes[LOOM_N_OWNERS],
                           const LoomTrainerDeviceMemory *driver);
void worker_outbox_checkpoint (WorkerOutbox *outbox, gint64 step, const char *path);
/* Sends pending messages, if the last batch has been written; the serve thread's timer calls it. */
void worker_outbox_send (WorkerOutbox *outbox);
/* Sends what is pending and waits until it is written. */
void worker_outbox_finish (WorkerOutbox *outbox);
/* On the serve thread: another client takes the place of the one before, and receives all that is known of the run.
 * NULL: there is none; what comes is kept, thinned out. */
void worker_outbox_connect (WorkerOutbox *outbox, GDBusConnection *connection);
/* The newest state and its message, which may be NULL; NULL: none yet. (transfer full) */
char *worker_outbox_dup_state (WorkerOutbox *outbox, char **message);

/* ---- pace: how fast a run may go at most ---- */

#define WORKER_PACE_MAX_SECONDS 86400.0

typedef struct
{
  int wanted_ms; /* any thread, atomic */
  int hurried;   /* likewise: a command waits for the step, so no step sleeps */
  int ms;        /* the compute thread's: the duration that first and base belong to */
  gint64 first, base;
} WorkerPace;

gboolean worker_pace_is_valid (double seconds);
/* On any thread: sets the minimum duration of the whole run in seconds; 0: none. */
void worker_pace_set (WorkerPace *pace, double seconds);
/* On any thread: TRUE ends waits, including the current one, until FALSE is set. */
void worker_pace_hurry (WorkerPace *pace, gboolean hurried);
/* Waits until the step after `step` is due. */
void worker_pace_wait (WorkerPace *pace, gint64 step, gint64 total);
/* The minimum duration of the rest of the run after this step, in seconds; 0 without a pace. */
double worker_pace_remaining (WorkerPace *pace, gint64 step, gint64 total);

/* ---- runner: the compute thread ---- */

typedef struct _WorkerRunner WorkerRunner;

/* The maximum number of bytes of a view, in either direction. */
#define WORKER_MAX_VIEW_BYTES (4 * 1024 * 1024)

typedef struct
{
  gint64 epochs, batch_size, seed;
  gint64 steps, history; /* as LoomTrainerOptions has them, as well as the next ones */
  double checkpoint_seconds;
  int num_workers;
  gboolean tf32;
  char *precision, *weights, *match;
  char **set;
  gint64 resume_step; /* with resume: from the newest checkpoint at or before this step; 0: the newest */
  double lr;
  double at_least; /* minimum duration in seconds; 0: none */
  char *device, *out, *resume;
  char *branch; /* the run begins with the state of the run in this folder after branch_step; NULL: none */
  gint64 branch_step;
  char *replay; /* the run repeats the run in this folder; NULL: none */
  int threads;
  int ranks; /* processes that mpirun has started, or threads of this one; 0, 1: one */
  gboolean paused;
} WorkerStart;

void worker_start_clear (WorkerStart *start);

WorkerRunner *worker_runner_new (WorkerOutbox *outbox);
/* Ends the run properly (step, checkpoint) and joins the thread. */
void worker_runner_free (WorkerRunner *runner);
/* Consumes both arguments, whatever it returns. FALSE if a run is active. */
gboolean worker_runner_start (WorkerRunner *runner, LoomGraph *graph, WorkerStart *start, GError **error);
/* From start() until the run has ended. */
gboolean worker_runner_is_active (WorkerRunner *runner);
/* The folder of the run that was started last; NULL: none. (transfer full) */
char *worker_runner_dup_folder (WorkerRunner *runner);
/* Adds ranks and at_least of that run. */
void worker_runner_describe (WorkerRunner *runner, GVariantBuilder *to);
/* FALSE with an error if there is no run. */
gboolean
worker_runner_post (WorkerRunner *runner, LoomCommandKind kind, const char *name, double value, GError **error);
/* Sets another pace for the active run. */
gboolean worker_runner_set_pace (WorkerRunner *runner, double seconds, GError **error);
/* Returns the path of the next checkpoint through the invocation. */
gboolean worker_runner_checkpoint (WorkerRunner *runner, GDBusMethodInvocation *invocation, GError **error);
/* Returns the snapshot through the invocation, from another thread. */
void worker_runner_snapshot (WorkerRunner *runner, GDBusMethodInvocation *invocation, const char *port, GVariant *index,
                             guint32 max_bytes);

/* Likewise: a function of the trainer that returns the reply, called on another thread. */
typedef GVariant *(*WorkerView) (LoomTrainer *trainer, GVariant *parameters, GError **error);
void worker_runner_view (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view);
/* For a function that needs no trainer: it gets NULL. */
void worker_runner_compute (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view);
/* a(ssd), for this run and the next ones; replies when the trainer has them. */
gboolean
worker_runner_set_breakpoints (WorkerRunner *runner, GDBusMethodInvocation *invocation, GVariant *list, GError **error);

/* A WorkerView: the net's outputs for samples. */
GVariant *worker_predict (LoomTrainer *trainer, GVariant *parameters, GError **error);
/* Makes a tensor f32 of the samples with the client's shape; a wrong number of bytes is an error. */
LoomTensor *worker_read_samples (GVariant *shape, GVariant *samples, GError **error);
/* A port's values, limited to the bytes of a view; index selects along the leading dimensions. Called likewise. */
GVariant *worker_snapshot (LoomTrainer *trainer, const char *port, const gint64 *index, gsize n_index,
                           guint32 max_bytes, GError **error);

/* What a predictor needs of the run; all members are copies. */
typedef struct
{
  LoomGraph *graph;
  GPtrArray *weights;    /* LoomNamedTensor */
  char *device, *folder; /* folder: the run's, NULL: none */
  int threads;           /* of the CPU; 1 while the run trains */
  LoomTrainerMoment moment;
} WorkerModel;

void worker_model_clear (WorkerModel *model);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkerModel, worker_model_clear)
/* On any thread but those of the runner: copies the run's current model, between two steps. */
gboolean worker_runner_copy_model (WorkerRunner *runner, WorkerModel *model, GError **error);

/* ---- ranks ---- */

typedef struct _WorkerRanks WorkerRanks;

/* Starts all ranks except the first with these options; the graph and all pointers in options must outlive them.
 * Divides the machine's threads in options if no number was requested. */
WorkerRanks *worker_ranks_new (int n, LoomGraph *graph, LoomTrainerOptions *options, GError **error);
/* Makes the trainer of rank 0, after all ranks are ready for the same run. */
LoomTrainer *worker_ranks_make (WorkerRanks *ranks, GError **error);
/* Call after rank 0's run: waits for the others. An error of only this rank ends them. */
void worker_ranks_end (WorkerRanks *ranks, const GError *error);
/* Call after freeing the trainer. */
void worker_ranks_free (WorkerRanks *ranks);

/* ---- ranks that are processes ---- */

/* Takes the ranks that mpirun has started, of which this process is the first; NULL: a single rank. */
void worker_processes_take (LoomComm *ranks);
/* Makes all n ranks begin this run, and returns the communicator of rank 0, for options->comm. NULL if their number is
 * not n or they have had their run; NULL with an error if they cannot be notified. */
LoomComm *worker_processes_start (int n, LoomGraph *graph, LoomTrainerOptions *options, GError **error);
/* Reports the end of the run on this rank, with this error or none. */
void worker_processes_end (const GError *error);
/* Call last: ends the other ranks, too. */
void worker_processes_exit (void);
/* Runs each of the other ranks until the run has ended; returns the exit status. */
int worker_follow (LoomComm *ranks);

/* ---- a step, node by node, and breakpoints ---- */

void worker_connect_step (LoomBusWorker1 *bus, WorkerRunner *runner);
/* LoomBreakpoint from a(ssd), whose strings it borrows. NULL with an error for an unknown condition. */
GArray *worker_read_breakpoints (GVariant *list, GError **error);
void worker_report_breakpoint (WorkerOutbox *outbox, const LoomBreakHit *hit);

/* ---- clients ---- */

typedef struct _WorkerClients WorkerClients;

/* Connects Describe, Follow and Keep. Ends the loop when there is nothing left to do. */
WorkerClients *worker_clients_new (LoomBusWorker1 *bus, WorkerOutbox *outbox, WorkerRunner *runner, GMainLoop *loop);
/* Takes the client that has started the worker, with the connection of the outbox. */
gboolean worker_clients_take (WorkerClients *clients, GDBusConnection *connection, GError **error);
/* Call regularly: ends the loop after the end of a run that no client watches. */
void worker_clients_tick (WorkerClients *clients);
/* Call after worker_runner_free() has ended the run whose folder this is (NULL: none). Writes how a run without a
 * client has ended, and removes its socket. */
void worker_clients_free (WorkerClients *clients, const char *folder);

/* ---- methods ---- */
void worker_connect_methods (LoomBusWorker1 *bus, WorkerRunner *runner);
