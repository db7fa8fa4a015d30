/* Shared by the files of `gradloom worker`.
 *
 * Two threads matter. The compute thread (worker-runner.c) builds and drives trainers. The serve thread (worker.c,
 * worker-methods.c) owns the bus connection. What the first reports to Studio passes through the outbox
 * (worker-outbox.c), commands the other way through the trainer's own queue. A third thread waits for snapshots, so
 * that a long step does not hold up Pause. */
#pragma once

#include "engine/loom-run.h"

#include "loom-worker-bus.h"

G_BEGIN_DECLS

/* ---- outbox: what goes out, bounded however long Studio sleeps ---- */

/* A run with more is refused, so that no curve is missing without a word. */
#define WORKER_MAX_METRICS 16

typedef struct
{
  gint64 step, epoch, recent_steps;
  double loss, lr, items_per_second, eta_seconds;
  double metric[WORKER_MAX_METRICS];
} WorkerPoint;

typedef struct _WorkerOutbox WorkerOutbox;

WorkerOutbox *worker_outbox_new (LoomBusWorker1 *bus, GDBusConnection *connection);
void worker_outbox_free (WorkerOutbox *outbox);
/* A new run, from the compute thread: names of metrics and totals of Progress. Points and evaluations of the run before
 * that were not sent yet are forgotten: they have other metrics, and their steps start again. */
void worker_outbox_begin (WorkerOutbox *outbox, const char *const *metric_name, guint n_metrics, gint64 total_steps,
                          gint64 epochs);
/* From the compute thread; never allocates. */
void worker_outbox_point (WorkerOutbox *outbox, const WorkerPoint *point);
/* From any thread. */
void worker_outbox_state (WorkerOutbox *outbox, const char *state, const char *message);
void worker_outbox_eval (WorkerOutbox *outbox, const LoomTrainerEval *eval);
void
worker_outbox_problem (WorkerOutbox *outbox, const char *code, const char *node, const char *port, const char *message);
void worker_outbox_base_lr (WorkerOutbox *outbox, double lr);
/* Sent with the next points. */
void worker_outbox_waits (WorkerOutbox *outbox, const LoomTrainerWaits *waits);
/* driver: of a device with memory of its own; total 0: it has none. */
void worker_outbox_memory (WorkerOutbox *outbox, const char *device, const gsize bytes[LOOM_N_OWNERS],
                           const LoomTrainerDeviceMemory *driver);
void worker_outbox_checkpoint (WorkerOutbox *outbox, gint64 step, const char *path);
/* Sends what is waiting, if the last batch has left: called by the serve thread's timer. */
void worker_outbox_send (WorkerOutbox *outbox);

/* ---- pace: how fast a run may go at most ---- */

#define WORKER_PACE_MAX_SECONDS 86400.0

typedef struct
{
  int wanted_ms; /* any thread, atomically */
  int hurried;   /* likewise: a command waits for the step, so no step sleeps */
  int ms;        /* the compute thread's from here on: what the line is drawn for */
  gint64 first, base;
} WorkerPace;

gboolean worker_pace_is_valid (double seconds);
/* From any thread: the minimum duration of the whole run in seconds; 0: as fast as it can. */
void worker_pace_ask (WorkerPace *pace, double seconds);
/* From any thread: TRUE ends the waits, also the one that has begun, until FALSE. */
void worker_pace_hurry (WorkerPace *pace, gboolean hurried);
/* Waits for that. */
void worker_pace_wait (WorkerPace *pace, gint64 step, gint64 total);
/* The seconds that a run takes at least from after this step on; 0 without a pace. */
double worker_pace_left (WorkerPace *pace, gint64 step, gint64 total);

/* ---- runner: the compute thread ---- */

typedef struct _WorkerRunner WorkerRunner;

/* The most bytes that a view is sent, and that it may send. */
#define WORKER_MAX_VIEW_BYTES (4 * 1024 * 1024)

typedef struct
{
  gint64 epochs, batch_size, seed;
  double lr;
  double at_least; /* seconds; 0: as fast as it can */
  char *device, *out, *resume;
  int threads;
  int ranks; /* processes that mpirun has started, or threads of this one; 0, 1: one */
  gboolean paused;
} WorkerStart;

void worker_start_clear (WorkerStart *start);

WorkerRunner *worker_runner_new (WorkerOutbox *outbox);
/* Ends the run properly (step, checkpoint) and joins the thread. */
void worker_runner_free (WorkerRunner *runner);
/* Takes both, whatever it answers. FALSE when a run is active. */
gboolean worker_runner_start (WorkerRunner *runner, LoomGraph *graph, WorkerStart *start, GError **error);
/* FALSE with a sentence when there is no run to obey. */
gboolean
worker_runner_post (WorkerRunner *runner, LoomCommandKind kind, const char *name, double value, GError **error);
/* Another pace for the running run. */
gboolean worker_runner_set_pace (WorkerRunner *runner, double seconds, GError **error);
/* The path of the next checkpoint written, through the invocation. */
gboolean worker_runner_checkpoint (WorkerRunner *runner, GDBusMethodInvocation *invocation, GError **error);
/* Answers from a thread of its own. */
void worker_runner_snapshot (WorkerRunner *runner, GDBusMethodInvocation *invocation, const char *port, GVariant *index,
                             guint32 max_bytes);

/* Likewise: what the net answers to samples f32 of this shape. */
void
worker_runner_predict (WorkerRunner *runner, GDBusMethodInvocation *invocation, GVariant *shape, GVariant *samples);

/* The same on the thread that waits for views; the trainer is held. NULL with a sentence as error. */
GVariant *worker_predict (LoomTrainer *trainer, GVariant *shape, GVariant *samples, GError **error);
/* A port's values, limited to the bytes that a view takes: index picks along the leading dimensions. The same. */
GVariant *worker_snapshot (LoomTrainer *trainer, const char *port, const gint64 *index, gsize n_index,
                           guint32 max_bytes, GError **error);

/* ---- ranks ---- */

typedef struct _WorkerRanks WorkerRanks;

/* Starts the ranks but the first, which have these options; what they point to, and the graph, must live until they
 * have ended. Divides the machine's threads in options where no number was asked for. */
WorkerRanks *worker_ranks_new (int n, LoomGraph *graph, LoomTrainerOptions *options, GError **error);
/* The trainer of the first rank, once all are ready for the same. */
LoomTrainer *worker_ranks_make (WorkerRanks *ranks, GError **error);
/* After its run: waits for the others. An error that is this rank's alone ends them. */
void worker_ranks_end (WorkerRanks *ranks, const GError *error);
/* After its trainer. */
void worker_ranks_free (WorkerRanks *ranks);

/* ---- ranks that are processes ---- */

/* The ranks that mpirun has started, of which this process is the first; NULL: it is alone. */
void worker_processes_take (LoomComm *ranks);
/* They begin this run, where they are n: the communicator of the first one, for options->comm. NULL where they are
 * others, or have had their run; with an error where they cannot be told. */
LoomComm *worker_processes_start (int n, LoomGraph *graph, LoomTrainerOptions *options, GError **error);
/* The run has ended here, with this error or none. */
void worker_processes_end (const GError *error);
/* After everything else: the other ranks end, too. */
void worker_processes_leave (void);
/* What each of the others does, until the run has ended; its exit status. */
int worker_follow (LoomComm *ranks);

/* ---- methods ---- */
void worker_connect_methods (LoomBusWorker1 *bus, WorkerRunner *runner);

G_END_DECLS
