/* The compute thread: it builds trainers and runs them, one after another.
 *
 * It issues all OpenMP work of a run. The trainer exists until the next run, so that views can still be filled; a
 * thread that reads values for a view holds the reader's side of `trainer_lock`. */
#include "app/worker/worker.h"

#include "app/train-replay.h"

#include <math.h>
#include <string.h>

#define MAX_VIEWS    6  /* requested at a time */
#define WAITS_STRIDE 16 /* measured steps between two reports of stalls, after the first reports */

typedef struct
{
  LoomGraph *graph;
  WorkerStart start;
  char *trace; /* the file for the trace of a step */
} Job;

typedef struct
{
  GDBusMethodInvocation *invocation;
  WorkerView view; /* NULL: a port */
  gboolean alone;  /* the view needs no trainer */
  char *port;
  gint64 *index;
  gsize n_index;
  guint32 max_bytes;
} ViewJob;

struct _WorkerRunner
{
  WorkerOutbox *outbox;
  GThread *thread;
  GThreadPool *views;

  GRWLock trainer_lock; /* written only to replace the trainer */
  LoomTrainer *trainer;
  WorkerRanks *ranks; /* the trainer's; NULL: a single rank */
  char *trained;      /* the trainer's folder; NULL: none */
  int threads;        /* the trainer's; 0: all */

  GMutex lock;
  GCond wake;
  Job *job;         /* the next run */
  gboolean running; /* from start() until the run has ended */
  char *folder;     /* of the last run that was started; NULL: none */
  int n_ranks;      /* of that run */
  double at_least;
  gboolean ready; /* the trainer of this run exists; until then commands are stored in early */
  gboolean quit;
  GArray *early;         /* LoomCommandKind */
  GVariant *breakpoints; /* NULL: none */
  GQueue checkpoints;    /* invocations that wait for a path */
  WorkerPace pace;
  gint64 memory_asked; /* the time of the driver's figure that was sent last */
};

static const char *
folder_of (const WorkerStart *start)
{
  return start->resume != NULL ? start->resume : start->out;
}

static void
job_free (Job *job)
{
  g_clear_pointer (&job->graph, loom_graph_unref);
  worker_start_clear (&job->start);
  g_free (job->trace);
  g_free (job);
}

/* ---- reports of the trainer ------------------------------------------- */

/* Runs on the compute thread, or before the run, so that the bytes do not change meanwhile. */
static void
memory_cb (LoomTrainer *trainer, gpointer data)
{
  WorkerRunner *runner = data;
  gsize bytes[LOOM_N_OWNERS] = { 0 };
  LoomTrainerDeviceMemory driver;

  loom_trainer_memory (trainer, bytes);
  loom_trainer_device_memory (trainer, &driver);
  runner->memory_asked = driver.asked;
  worker_outbox_memory (runner->outbox, loom_trainer_device (trainer), bytes, &driver);
}

/* Sends a new figure of the driver: at most once a second, and never if there is no driver. */
static void
send_driver_memory (WorkerRunner *runner, LoomTrainer *trainer)
{
  LoomTrainerDeviceMemory driver;

  if (loom_trainer_device_memory (trainer, &driver) && driver.asked != runner->memory_asked)
    memory_cb (trainer, runner);
}

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  WorkerRunner *runner = data;
  LoomTrainerStep step = *s;
  LoomTrainerWaits waits;

  /* The run ends here with an error; the curve gets no point. */
  if (!isfinite (s->loss))
    return;
  /* The trainer's rate is first that of steps without evaluations, and there is none before its first measurement; the
   * pace applies from the first step on. */
  double paced = worker_pace_remaining (&runner->pace, s->step, s->total_steps);
  if (paced > step.eta_seconds)
    {
      step.items_per_second *= step.eta_seconds / paced;
      step.eta_seconds = paced;
    }
  else if (step.items_per_second <= 0)
    step.eta_seconds = NAN;
  worker_outbox_step (runner->outbox, &step);
  send_driver_memory (runner, trainer);
  loom_trainer_waits (trainer, &waits);
  if (waits.steps > 0 && (waits.steps < WAITS_STRIDE || waits.steps % WAITS_STRIDE == 0))
    worker_outbox_waits (runner->outbox, &waits);
  worker_pace_wait (&runner->pace, s->step, s->total_steps);
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  worker_outbox_eval (((WorkerRunner *)data)->outbox, e);
}

static void
note_cb (LoomTrainer *trainer, const char *text, gpointer data)
{
  worker_outbox_problem (((WorkerRunner *)data)->outbox, "NOTE", "", "", text);
}

static void
answer_checkpoints (WorkerRunner *runner, const char *path, const char *why_not)
{
  GDBusMethodInvocation *invocation;

  g_mutex_lock (&runner->lock);
  while ((invocation = g_queue_pop_head (&runner->checkpoints)))
    {
      if (path != NULL)
        g_dbus_method_invocation_return_value (invocation, g_variant_new ("(s)", path));
      else
        g_dbus_method_invocation_return_error_literal (invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, why_not);
    }
  g_mutex_unlock (&runner->lock);
}

static void
checkpoint_cb (LoomTrainer *trainer, gint64 step, const char *path, gpointer data)
{
  WorkerRunner *runner = data;
  worker_outbox_checkpoint (runner->outbox, step, path);
  answer_checkpoints (runner, path, NULL);
}

static void
state_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  /* The last states contain the reason, which only the caller of the run knows. */
  if (g_str_equal (state, "running") || g_str_equal (state, "paused"))
    worker_outbox_state (((WorkerRunner *)data)->outbox, state, NULL);
}

/* ---- the thread ------------------------------------------------------- */

/* Before the last state is sent, because a client that receives it may start the next run at once. */
static void
mark_ended (WorkerRunner *runner)
{
  g_mutex_lock (&runner->lock);
  runner->running = runner->ready = FALSE;
  g_mutex_unlock (&runner->lock);
}

/* The source of the data, if the error is DATA. */
static const char *
dataset_node (LoomGraph *graph)
{
  LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      LoomElement *e = loom_element_child (root, i);
      if (loom_op_has_role (e, LOOM_ROLE_DATASET))
        return loom_element_get (e, "id");
    }
  return NULL;
}

/* trainer may be NULL: it could not be built. */
static void
fail (WorkerRunner *runner, const Job *job, const LoomTrainer *trainer, const GError *error)
{
  const char *code = error->domain == LOOM_ERROR ? loom_error_code_name (error->code) : "IO";
  const char *port = NULL, *node = trainer != NULL ? loom_trainer_get_failed_node (trainer, &port) : NULL;

  if (node == NULL && job->graph != NULL && g_error_matches (error, LOOM_ERROR, LOOM_ERROR_DATA))
    node = dataset_node (job->graph);
  worker_outbox_problem (runner->outbox, code, node, port, error->message);
  worker_outbox_state (runner->outbox, "failed", error->message);
}

static void
breakpoint_cb (LoomTrainer *trainer, const LoomBreakHit *hit, gpointer data)
{
  worker_report_breakpoint (((WorkerRunner *)data)->outbox, hit);
}

static LoomTrainer *
build_trainer (WorkerRunner *runner, Job *job, GError **error)
{
  LoomTrainerOptions options = {
    .device = job->start.device,
    .threads = job->start.threads,
    .epochs = job->start.epochs,
    .batch_size = job->start.batch_size,
    .lr = job->start.lr,
    .seed = job->start.seed,
    .out = job->start.out,
    .resume = job->start.resume,
    .resume_step = job->start.resume_step,
    .branch = job->start.branch,
    .branch_step = job->start.branch_step,
    .steps = job->start.steps,
    .history = job->start.history,
    .checkpoint_seconds = job->start.checkpoint_seconds,
    .num_workers = job->start.num_workers,
    .tf32 = job->start.tf32,
    .precision = job->start.precision,
    .weights = job->start.weights,
    .match = job->start.match,
    .set = (const char *const *)job->start.set,
    .trace_optional = TRUE,
  };
  LoomTrainerObserver observer = { .step = step_cb,
                                   .eval = eval_cb,
                                   .checkpoint = checkpoint_cb,
                                   .state = state_cb,
                                   .note = note_cb,
                                   .memory = memory_cb,
                                   .breakpoint = breakpoint_cb };
  g_autoptr (LoomTrainer) trainer = NULL;
  g_auto (TrainReplay) replay = { NULL };
  const char *folder = folder_of (&job->start);

  if (job->start.replay != NULL)
    {
      if (!train_replay_read (&replay, job->start.replay, &options, error))
        return NULL;
      g_clear_pointer (&job->graph, loom_graph_unref);
      job->graph = loom_graph_ref (replay.graph);
      job->start.threads = options.threads;
      job->start.ranks = replay.settings.ranks;
      /* Ranks have their options longer than this function. */
      if (job->start.device == NULL)
        job->start.device = g_strdup (options.device);
      options.device = job->start.device;
    }
  if (folder != NULL)
    options.trace = job->trace = g_build_filename (folder, LOOM_TRACE_FILE, NULL);
  if (job->start.ranks > 1)
    {
      runner->ranks = worker_ranks_new (job->start.ranks, job->graph, &options, error);
      trainer = runner->ranks != NULL ? worker_ranks_make (runner->ranks, error) : NULL;
    }
  else
    trainer = loom_trainer_new (job->graph, &options, error);

  if (trainer == NULL)
    return NULL;
  guint n_metrics = loom_trainer_spec (trainer)->metrics->len;
  if (n_metrics > WORKER_MAX_METRICS)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "The graph has %u metrics; at most %d can be watched. Remove some.", n_metrics, WORKER_MAX_METRICS);
      return NULL;
    }
  loom_trainer_set_observer (trainer, &observer, runner);
  return g_steal_pointer (&trainer);
}

static void
announce (WorkerRunner *runner, LoomTrainer *trainer)
{
  const LoomTrainSpec *spec = loom_trainer_spec (trainer);
  const char *name[WORKER_MAX_METRICS];
  guint n = MIN (spec->metrics->len, WORKER_MAX_METRICS);

  for (guint i = 0; i < n; i++)
    name[i] = ((LoomMetricSpec *)spec->metrics->pdata[i])->name;
  worker_outbox_begin (runner->outbox, name, n, loom_trainer_total_steps (trainer), spec->epochs);
  worker_outbox_base_lr (runner->outbox, loom_trainer_base_lr (trainer));
  if (loom_trainer_notes (trainer) != NULL)
    worker_outbox_problem (runner->outbox, "NOTE", "", "", loom_trainer_notes (trainer));
  memory_cb (trainer, runner);
}

/* With the lock held and before `ready`, so that a newer list is set after this one. */
static void
apply_breakpoints (WorkerRunner *runner, LoomTrainer *trainer)
{
  g_autoptr (GArray) all = runner->breakpoints != NULL ? worker_read_breakpoints (runner->breakpoints, NULL) : NULL;

  if (all != NULL)
    loom_trainer_set_breakpoints (trainer, (const LoomBreakpoint *)all->data, all->len);
}

static void
do_job (WorkerRunner *runner, Job *job)
{
  g_autoptr (GError) error = NULL;

  g_rw_lock_writer_lock (&runner->trainer_lock);
  g_clear_pointer (&runner->trainer, loom_trainer_free);
  g_clear_pointer (&runner->ranks, worker_ranks_free);
  g_clear_pointer (&runner->trained, g_free);
  g_rw_lock_writer_unlock (&runner->trainer_lock);

  LoomTrainer *trainer = build_trainer (runner, job, &error);
  if (trainer == NULL)
    {
      if (runner->ranks != NULL)
        worker_ranks_end (runner->ranks, error);
      mark_ended (runner);
      fail (runner, job, NULL, error);
      return;
    }
  announce (runner, trainer);
  if (job->start.paused)
    loom_trainer_post (trainer, LOOM_COMMAND_PAUSE, NULL, 0);

  g_rw_lock_writer_lock (&runner->trainer_lock);
  runner->trainer = trainer;
  runner->trained = g_strdup (folder_of (&job->start));
  runner->threads = job->start.threads;
  g_rw_lock_writer_unlock (&runner->trainer_lock);
  g_mutex_lock (&runner->lock);
  for (guint i = 0; i < runner->early->len; i++)
    loom_trainer_post (trainer, g_array_index (runner->early, LoomCommandKind, i), NULL, 0);
  apply_breakpoints (runner, trainer);
  runner->ready = TRUE;
  if (runner->quit)
    loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
  g_mutex_unlock (&runner->lock);

  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  send_driver_memory (runner, trainer);
  if (runner->ranks != NULL)
    worker_ranks_end (runner->ranks, error);
  mark_ended (runner);
  answer_checkpoints (runner, NULL, "The run ended before a checkpoint was written.");
  if (end == LOOM_TRAINER_DONE)
    worker_outbox_state (runner->outbox, "done", NULL);
  else if (end == LOOM_TRAINER_FAILED)
    fail (runner, job, trainer, error);
  else
    worker_outbox_state (runner->outbox, "stopped", error != NULL ? error->message : NULL);
}

static gpointer
compute (gpointer data)
{
  WorkerRunner *runner = data;

  g_mutex_lock (&runner->lock);
  for (;;)
    {
      while (runner->job == NULL && !runner->quit)
        g_cond_wait (&runner->wake, &runner->lock);
      if (runner->job == NULL)
        break;
      Job *job = g_steal_pointer (&runner->job);
      g_mutex_unlock (&runner->lock);
      do_job (runner, job);
      job_free (job);
      g_mutex_lock (&runner->lock);
    }
  g_mutex_unlock (&runner->lock);
  return NULL;
}

/* ---- on the serve thread ---------------------------------------------- */

static void view_job (gpointer job, gpointer runner);

WorkerRunner *
worker_runner_new (WorkerOutbox *outbox)
{
  WorkerRunner *runner = g_new0 (WorkerRunner, 1);

  runner->outbox = outbox;
  g_rw_lock_init (&runner->trainer_lock);
  g_mutex_init (&runner->lock);
  g_cond_init (&runner->wake);
  g_queue_init (&runner->checkpoints);
  runner->early = g_array_new (FALSE, FALSE, sizeof (LoomCommandKind));
  /* Several requests can be answered after the same step, so that related values belong to one step. */
  runner->views = g_thread_pool_new (view_job, runner, MAX_VIEWS, FALSE, NULL);
  runner->thread = g_thread_new ("compute", compute, runner);
  return runner;
}

void
worker_runner_free (WorkerRunner *runner)
{
  g_mutex_lock (&runner->lock);
  runner->quit = TRUE;
  g_cond_signal (&runner->wake);
  g_mutex_unlock (&runner->lock);
  worker_runner_post (runner, LOOM_COMMAND_STOP, NULL, 0, NULL);
  g_thread_join (runner->thread);
  g_thread_pool_free (runner->views, FALSE, TRUE);
  g_clear_pointer (&runner->trainer, loom_trainer_free);
  g_clear_pointer (&runner->ranks, worker_ranks_free);
  g_rw_lock_clear (&runner->trainer_lock);
  g_mutex_clear (&runner->lock);
  g_cond_clear (&runner->wake);
  g_queue_clear (&runner->checkpoints);
  g_array_unref (runner->early);
  g_free (runner->folder);
  g_free (runner->trained);
  g_clear_pointer (&runner->breakpoints, g_variant_unref);
  g_free (runner);
}

gboolean
worker_runner_start (WorkerRunner *runner, LoomGraph *graph, WorkerStart *start, GError **error)
{
  Job *job = g_new0 (Job, 1);
  job->graph = graph;
  job->start = *start;

  g_mutex_lock (&runner->lock);
  gboolean idle = !runner->running;
  if (idle)
    {
      runner->running = TRUE;
      runner->ready = FALSE;
      g_array_set_size (runner->early, 0);
      worker_pace_set (&runner->pace, start->at_least);
      worker_pace_hurry (&runner->pace, FALSE);
      g_free (runner->folder);
      runner->folder = g_strdup (folder_of (start));
      runner->n_ranks = MAX (start->ranks, 1);
      runner->at_least = start->at_least;
      runner->job = job;
      worker_outbox_state (runner->outbox, "preparing", NULL);
      g_cond_signal (&runner->wake);
    }
  g_mutex_unlock (&runner->lock);
  if (!idle)
    {
      job_free (job);
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "A run is active. Stop it first.");
    }
  return idle;
}

gboolean
worker_runner_is_active (WorkerRunner *runner)
{
  g_mutex_lock (&runner->lock);
  gboolean active = runner->running;
  g_mutex_unlock (&runner->lock);
  return active;
}

char *
worker_runner_dup_folder (WorkerRunner *runner)
{
  g_mutex_lock (&runner->lock);
  char *folder = g_strdup (runner->folder);
  g_mutex_unlock (&runner->lock);
  return folder;
}

void
worker_runner_describe (WorkerRunner *runner, GVariantBuilder *to)
{
  g_mutex_lock (&runner->lock);
  g_variant_builder_add (to, "{sv}", "ranks", g_variant_new_int32 (runner->n_ranks));
  g_variant_builder_add (to, "{sv}", "at_least", g_variant_new_double (runner->at_least));
  g_mutex_unlock (&runner->lock);
}

/* Pause, Step and Stop take effect after another step, so a sleep between steps must not delay them. */
static void
set_hurry (WorkerRunner *runner, LoomCommandKind kind)
{
  if (kind == LOOM_COMMAND_PAUSE || kind == LOOM_COMMAND_STEP || kind == LOOM_COMMAND_STOP)
    worker_pace_hurry (&runner->pace, TRUE);
  else if (kind == LOOM_COMMAND_RESUME)
    worker_pace_hurry (&runner->pace, FALSE);
}

gboolean
worker_runner_post (WorkerRunner *runner, LoomCommandKind kind, const char *name, double value, GError **error)
{
  g_autoptr (GError) wrong = NULL;
  gboolean ok = FALSE;

  g_rw_lock_reader_lock (&runner->trainer_lock);
  g_mutex_lock (&runner->lock);
  if (!runner->running)
    g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "No run is active.");
  else if (!runner->ready && (kind == LOOM_COMMAND_SET_HYPER || kind == LOOM_COMMAND_CHECKPOINT))
    g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "The run is still being prepared. Try again in a moment.");
  else if (!runner->ready)
    {
      /* Planning takes time; requests during it take effect at the first step. */
      set_hurry (runner, kind);
      g_array_append_val (runner->early, kind);
      ok = TRUE;
    }
  else if (kind == LOOM_COMMAND_SET_HYPER && !loom_trainer_check_hyper (runner->trainer, name, value, &wrong))
    g_set_error_literal (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, wrong->message);
  else
    {
      set_hurry (runner, kind);
      loom_trainer_post (runner->trainer, kind, name, value);
      ok = TRUE;
    }
  g_mutex_unlock (&runner->lock);
  g_rw_lock_reader_unlock (&runner->trainer_lock);
  return ok;
}

gboolean
worker_runner_set_pace (WorkerRunner *runner, double seconds, GError **error)
{
  g_mutex_lock (&runner->lock);
  gboolean running = runner->running;
  if (running)
    {
      worker_pace_set (&runner->pace, seconds);
      runner->at_least = seconds;
    }
  g_mutex_unlock (&runner->lock);
  if (!running)
    g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "No run is active.");
  return running;
}

gboolean
worker_runner_checkpoint (WorkerRunner *runner, GDBusMethodInvocation *invocation, GError **error)
{
  g_mutex_lock (&runner->lock);
  gboolean keeps = runner->running && runner->folder != NULL;
  if (keeps)
    g_queue_push_tail (&runner->checkpoints, invocation);
  g_mutex_unlock (&runner->lock);
  if (!keeps)
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "No active run has a folder.");
      return FALSE;
    }
  if (worker_runner_post (runner, LOOM_COMMAND_CHECKPOINT, NULL, 0, error))
    return TRUE;
  g_mutex_lock (&runner->lock);
  gboolean mine = g_queue_remove (&runner->checkpoints, invocation);
  g_mutex_unlock (&runner->lock);
  if (!mine)
    g_clear_error (error); /* the end of the run has answered it in the meantime */
  return !mine;
}

/* ---- copies of the model ------------------------------------------------ */

void
worker_model_clear (WorkerModel *model)
{
  g_clear_pointer (&model->graph, loom_graph_unref);
  g_clear_pointer (&model->weights, g_ptr_array_unref);
  g_clear_pointer (&model->device, g_free);
  g_clear_pointer (&model->folder, g_free);
}

gboolean
worker_runner_copy_model (WorkerRunner *runner, WorkerModel *model, GError **error)
{
  g_rw_lock_reader_lock (&runner->trainer_lock);
  if (runner->trainer == NULL)
    g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "Nothing has been trained yet.");
  else
    {
      model->weights = loom_trainer_weights (runner->trainer, &model->moment, error);
      model->graph = loom_graph_copy (loom_trainer_graph (runner->trainer));
      model->device = g_strdup (loom_trainer_device (runner->trainer));
      /* Those of the trainer: the next run may have been started. */
      model->folder = g_strdup (runner->trained);
      g_mutex_lock (&runner->lock);
      model->threads = runner->running ? 1 : runner->threads;
      g_mutex_unlock (&runner->lock);
    }
  g_rw_lock_reader_unlock (&runner->trainer_lock);
  return model->weights != NULL;
}

/* ---- snapshots -------------------------------------------------------- */

static GVariant *
read_trainer (WorkerRunner *runner, const ViewJob *job, GError **error)
{
  GVariant *answer = NULL;

  g_rw_lock_reader_lock (&runner->trainer_lock);
  if (runner->trainer == NULL)
    g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "Nothing has been trained yet.");
  else if (job->view != NULL)
    answer = job->view (runner->trainer, g_dbus_method_invocation_get_parameters (job->invocation), error);
  else
    answer = worker_snapshot (runner->trainer, job->port, job->index, job->n_index, job->max_bytes, error);
  g_rw_lock_reader_unlock (&runner->trainer_lock);
  return answer;
}

static void
view_job (gpointer data, gpointer user_data)
{
  ViewJob *job = data;
  g_autoptr (GError) error = NULL;
  GVariant *answer = job->alone ? job->view (NULL, g_dbus_method_invocation_get_parameters (job->invocation), &error)
                                : read_trainer (user_data, job, &error);

  if (answer != NULL)
    g_dbus_method_invocation_return_value (job->invocation, answer);
  else
    g_dbus_method_invocation_return_error_literal (job->invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED,
                                                   error != NULL ? error->message : "The value does not exist.");
  g_free (job->port);
  g_free (job->index);
  g_free (job);
}

void
worker_runner_snapshot (WorkerRunner *runner, GDBusMethodInvocation *invocation, const char *port, GVariant *index,
                        guint32 max_bytes)
{
  ViewJob *job = g_new0 (ViewJob, 1);
  gsize n;
  const gint64 *values = g_variant_get_fixed_array (index, &n, sizeof (gint64));

  job->invocation = invocation;
  job->port = g_strdup (port);
  job->index = g_memdup2 (values, n * sizeof (gint64));
  job->n_index = n;
  job->max_bytes = max_bytes;
  g_thread_pool_push (runner->views, job, NULL);
}

static void
push_view (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view, gboolean alone)
{
  ViewJob *job = g_new0 (ViewJob, 1);

  job->invocation = invocation;
  job->view = view;
  job->alone = alone;
  g_thread_pool_push (runner->views, job, NULL);
}

void
worker_runner_view (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view)
{
  push_view (runner, invocation, view, FALSE);
}

void
worker_runner_compute (WorkerRunner *runner, GDBusMethodInvocation *invocation, WorkerView view)
{
  push_view (runner, invocation, view, TRUE);
}

/* ---- breakpoints ------------------------------------------------------ */

gboolean
worker_runner_set_breakpoints (WorkerRunner *runner, GDBusMethodInvocation *invocation, GVariant *list, GError **error)
{
  g_autoptr (GArray) all = worker_read_breakpoints (list, error);

  if (all == NULL)
    return FALSE;
  g_rw_lock_reader_lock (&runner->trainer_lock);
  g_mutex_lock (&runner->lock);
  g_clear_pointer (&runner->breakpoints, g_variant_unref);
  runner->breakpoints = g_variant_ref (list);
  if (runner->ready)
    apply_breakpoints (runner, runner->trainer);
  g_mutex_unlock (&runner->lock);
  g_rw_lock_reader_unlock (&runner->trainer_lock);
  g_dbus_method_invocation_return_value (invocation, NULL);
  return TRUE;
}
