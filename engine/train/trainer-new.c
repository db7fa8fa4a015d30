/* Builds a trainer.
 *
 * A trainer is ready to step when loom_trainer_new() returns: graph checked, data open, devices open, the step of the
 * full batch planned, state initialised or restored. So every fault is reported before the first step. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-error.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/read-model.h"
#include "engine/train/run-parts.h"

#include <math.h>

/* ---- functions that parts call ---------------------------------------- */

static void
note_memory (gpointer data)
{
  LoomTrainer *t = data;

  device_memory_query (&t->observers.memory);
  if (t->observer.memory != NULL)
    t->observer.memory (t, t->observer_data);
}

static void
note_snapshots (gpointer data)
{
  LoomTrainer *t = data;

  if (t->control.inbox.active && t->observer.memory != NULL)
    t->observer.memory (t, t->observer_data);
}

static void
report_checkpoint (gint64 step, const char *path, gpointer data)
{
  LoomTrainer *t = data;

  if (t->observer.checkpoint != NULL)
    t->observer.checkpoint (t, step, path, t->observer_data);
}

static void
report_eval (const LoomTrainerEval *eval, gpointer data)
{
  LoomTrainer *t = data;

  if (t->observer.eval != NULL)
    t->observer.eval (t, eval, t->observer_data);
}

static void
report_breakpoint (const LoomBreakHit *hit, gpointer data)
{
  LoomTrainer *t = data;

  if (t->observer.breakpoint != NULL)
    t->observer.breakpoint (t, hit, t->observer_data);
}

static gboolean
take_breakpoint (const char *name, double value, gpointer data)
{
  return breakpoints_take (&((LoomTrainer *)data)->breakpoints, name, value);
}

static void
report_early_stop (const LoomTrainerWatch *watch, gpointer data)
{
  LoomTrainer *t = data;

  if (t->observer.early_stop != NULL)
    t->observer.early_stop (t, watch, t->observer_data);
}

static void
report_state (const char *state, gpointer data)
{
  LoomTrainer *t = data;

  if (t->observer.state != NULL)
    t->observer.state (t, state, t->observer_data);
}

static gboolean
poll_evaluation (gboolean *yields, gpointer data, GError **error)
{
  LoomTrainer *t = data;
  gboolean ok;

  t->is_evaluating = TRUE;
  ok = run_control_poll_evaluation (&t->control, yields, error);
  t->is_evaluating = FALSE;
  return ok;
}

static gboolean
come_back (gpointer data, GError **error)
{
  LoomTrainer *t = data;

  return time_machine_return (&t->machine, error);
}

/* ---- ranks ------------------------------------------------------------ */

static gboolean
open_ranks (LoomTrainer *t, const LoomTrainerOptions *options, GError **error)
{
  StepTrace *trace = &t->observers.trace;
  int rank, shards;

  if (!rank_group_open (&t->group, options->comm, t->model.spec, !options->no_epochs, &t->notes, error))
    return FALSE;
  if (options->resume != NULL && !options->no_epochs)
    rank_group_note_fewer (&t->group, t->model.spec, t->ranks, &t->notes);
  if (t->group.has_server)
    {
      if (trace->is_optional)
        g_clear_pointer (&trace->path, g_free);
      t->server = rank_server_new (&t->model, &t->group, error);
      t->model.spec->gathers = TRUE;
      if (t->server == NULL)
        return FALSE;
      if (trace->path != NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                       "--trace records a step that all ranks take together; with strategy=\"server\" each rank takes "
                       "its own steps. Leave --trace out.");
          return FALSE;
        }
    }
  rank_group_shard (&t->group, &rank, &shards);
  if (t->ranks == 0)
    t->ranks = shards;
  t->model.spec->batch_size *= t->ranks;
  t->budget = (MemoryBudget){ &t->model, &t->data, &t->group, t->ranks };
  return TRUE;
}

/* ---- devices and plans ------------------------------------------------ */

/* Determines the number of samples in a step before planning the first one. */
static gint64
first_batch (const LoomTrainer *t)
{
  gint64 batch = MIN (t->model.spec->batch_size, loom_dataset_count (t->data.dataset, LOOM_SPLIT_TRAIN));
  int rank, n;

  rank_group_shard (&t->group, &rank, &n);
  return !t->group.has_server || batch < n ? batch : loom_comm_shard (batch, rank, n).count;
}

/* Makes the parts that compute steps. */
static gboolean
make_steps (LoomTrainer *t, const LoomTrainerOptions *options, GError **error)
{
  const StepPlan *plan;

  t->plans = (StepPlans){ .model = &t->model,
                          .data = &t->data,
                          .group = &t->group,
                          .budget = &t->budget,
                          .notes = &t->notes,
                          .made = note_memory,
                          .made_data = t };
  step_plans_init (&t->plans);
  plan = step_plans_get (&t->plans, first_batch (t), TRUE, error);
  if (plan == NULL || !run_parts_try_stages (&t->data, &t->model, &t->group, plan->step->batch, error))
    return FALSE;
  t->progress.metrics = metric_sums_new (t->model.spec, plan->step);
  if (!step_plans_make_update (&t->plans, error)
      || !batch_queue_init (&t->batches, t->data.loader, plan, loom_driver (t->model.spec->optimizer->name) != NULL,
                            error))
    return FALSE;
  /* If a run is resumed for a number of steps, it is not known yet in which epoch it ends. */
  if ((options->resume == NULL || t->data.max_steps == 0) && !step_plans_check_memory (&t->plans, error))
    return FALSE;
  learning_rates_init (&t->rates, &t->model, t->data.steps_per_epoch, &t->progress);
  return TRUE;
}

/* Makes the parts that count, report, evaluate and write. */
static void
make_records (LoomTrainer *t, const LoomTrainerOptions *options)
{
  const double seconds = options->checkpoint_seconds > 0 ? options->checkpoint_seconds : 30;

  run_folder_init (&t->folder, t->data.total_steps);
  t->checkpoints
      = (Checkpoints){ .run = { &t->model, &t->data, &t->rates, step_plans_first (&t->plans) },
                       .folder = &t->folder,
                       .group = &t->group,
                       .keeps = options->out != NULL || options->resume != NULL,
                       .interval = (gint64)(seconds * G_USEC_PER_SEC),
                       .history = { .budget = options->history == 0 ? HISTORY_BUDGET : MAX (options->history, 0) },
                       .written = report_checkpoint,
                       .written_data = t };
  t->log = (StepLog){ .data = &t->data,
                      .progress = &t->progress,
                      .folder = &t->folder,
                      .checkpoints = &t->checkpoints,
                      .memory = &t->observers.memory };
  step_log_init (&t->log, t->model.spec, step_plans_first (&t->plans)->step);
  t->failure = (StepFailure){ .search = { &t->model, &t->data, &t->group }, .log = &t->log };
  t->loop = (TrainingLoop){ .model = &t->model,
                            .data = &t->data,
                            .group = &t->group,
                            .plans = &t->plans,
                            .batches = &t->batches,
                            .rates = &t->rates,
                            .log = &t->log,
                            .failure = &t->failure,
                            .trace = &t->observers.trace,
                            .reports = &t->observers.reports,
                            .timings = &t->observers.timings,
                            .driver = loom_driver (t->model.spec->optimizer->name) };
  training_loop_init (&t->loop);
  t->evaluation = (Evaluation){ .model = &t->model,
                                .data = &t->data,
                                .group = &t->group,
                                .plans = &t->plans,
                                .progress = &t->progress,
                                .folder = &t->folder,
                                .metric_name = t->log.metric_name,
                                .poll = poll_evaluation,
                                .report = report_eval,
                                .owner = t };
  evaluation_init (&t->evaluation);
  t->epoch_end = (EpochEnd){ .model = &t->model,
                             .data = &t->data,
                             .group = &t->group,
                             .progress = &t->progress,
                             .log = &t->log,
                             .evaluation = &t->evaluation,
                             .folder = &t->folder,
                             .checkpoints = &t->checkpoints,
                             .early_stop = report_early_stop,
                             .owner = t };
}

/* ---- folder ----------------------------------------------------------- */

/* A run that continues with another number than before: graph.xml has only the new one, so the event has both. */
static gboolean
note_change (LoomTrainer *t, const char *name, double value, double before, GError **error)
{
  LoomJson *json;

  if (value == before)
    return TRUE;
  learning_rates_change (&t->rates, &t->progress, name, value);
  json = run_event_new ("hyper");
  loom_json_int (json, "step", t->progress.step);
  loom_json_string (json, "name", name);
  loom_json_exact (json, "value", value);
  loom_json_exact (json, "before", before);
  return run_folder_add_event (&t->folder, json, error);
}

/* The checkpoint's schedule extends over the epochs of that time. */
static gboolean
note_epochs (LoomTrainer *t, GError **error)
{
  return note_change (t, LEARNING_RATES_EPOCHS, (double)t->model.spec->epochs, (double)t->progress.epochs, error);
}

/* A branch whose process was killed before its checkpoint was written has only events of its parent. */
static gboolean
check_branch (LoomFolder *run, GError **error)
{
  static const char line[] = "{\"event\":\"branch\",";
  g_autoptr (GMappedFile) events = loom_folder_map (run, LOOM_RUN_EVENTS, NULL);

  if (events == NULL || g_mapped_file_get_length (events) == 0
      || g_strstr_len (g_mapped_file_get_contents (events), (gssize)g_mapped_file_get_length (events), line) == NULL)
    return TRUE;
  g_set_error (
      error, LOOM_ERROR, LOOM_ERROR_DATA,
      "The branch in %s has no checkpoint, so that it cannot be continued. Remove the folder, and branch again.",
      loom_folder_path (run));
  return FALSE;
}

static gboolean
resume (LoomTrainer *t, const LoomTrainerOptions *options, const RunFolderContents *run, GError **error)
{
  const gboolean is_changed = options->epochs > 0 || !isnan (options->lr) || options->device != NULL
                              || options->threads > 0 || options->strategy != NULL;

  if (!run_state_restore (&t->checkpoints.run, options->resume, options->resume_step, &t->progress,
                          &t->folder.events_length, &t->notes, error))
    return FALSE;
  t->checkpoints.saved_step = t->progress.step;
  learning_rates_forget (&t->rates);
  if (t->folder.events_length == 0)
    {
      g_autoptr (LoomFolder) folder = loom_folder_open (options->resume, error);

      if (folder == NULL || !check_branch (folder, error))
        return FALSE;
    }
  if (rank_group_is_first (&t->group) && !run_folder_open (&t->folder, options->resume, is_changed ? run : NULL, error))
    return FALSE;
  if (options->resume_step > 0)
    checkpoints_remove_after (&t->checkpoints, t->progress.step);
  if ((!options->no_epochs && !note_epochs (t, error))
      || (!isnan (options->lr)
          && !note_change (t, "lr", learning_rates_of_spec (t->model.spec), t->progress.base_lr, error)))
    return FALSE;
  if (options->epochs > 0 && t->progress.epoch < t->model.spec->epochs)
    t->progress.watch.patience_exhausted = FALSE; /* the caller requests more epochs */
  return TRUE;
}

/* A run that ends writes a checkpoint: it had no step after the newest one. */
static gboolean
check_step (LoomFolder *run, gint64 step, GError **error)
{
  g_autoptr (LoomFolder) checkpoints = loom_folder_enter (run, LOOM_RUN_CHECKPOINTS, FALSE, NULL);
  g_autoptr (LoomFolder) history = loom_folder_enter (run, LOOM_RUN_HISTORY, FALSE, NULL);
  g_autoptr (GArray) written = loom_run_checkpoint_steps (checkpoints), kept = loom_run_checkpoint_steps (history);
  const gint64 last = MAX (written->len > 0 ? g_array_index (written, gint64, 0) : 0,
                           kept->len > 0 ? g_array_index (kept, gint64, 0) : 0);

  if (step >= 0 && step <= last)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "The run in %s had %" G_GINT64_FORMAT " steps. Name one from 0 to that.", loom_folder_path (run), last);
  return FALSE;
}

/* The newest state of a branch is that after a step of its parent, and its events begin with the parent's. */
static gboolean
open_branch (LoomTrainer *t, const LoomTrainerOptions *options, const RunFolderContents *run, GError **error)
{
  g_autoptr (LoomFolder) parent = loom_folder_open (options->branch, error);
  LoomJson *json;

  if (parent == NULL || !check_step (parent, options->branch_step, error)
      || !time_machine_load (&t->machine, parent, options->branch_step, TRUE, error))
    return FALSE;
  g_free (t->progress.parent);
  t->progress.parent = g_canonicalize_filename (options->branch, NULL);
  t->progress.parent_step = options->branch_step;
  if (options->out == NULL)
    return TRUE;
  if (!run_folder_create (&t->folder, options->out, run, error)
      || !run_folder_copy_events (&t->folder, parent, options->branch_step, error)
      || !time_machine_change (&t->machine, parent, options->branch_step, error) || !note_epochs (t, error))
    return FALSE;
  json = run_event_new ("branch");
  loom_json_int (json, "step", options->branch_step);
  loom_json_string (json, "parent", t->progress.parent);
  return run_folder_add_event (&t->folder, json, error) && checkpoints_write (&t->checkpoints, &t->progress, error);
}

static gboolean
read_replay (LoomTrainer *t, const char *path, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (path, error);

  if (folder == NULL || !live_changes_read (&t->replay, folder, error))
    return FALSE;
  for (guint i = 0; i < t->replay.list->len; i++)
    {
      const LiveChange *change = &g_array_index (t->replay.list, LiveChange, i);

      if (g_str_equal (change->name, LEARNING_RATES_EPOCHS) || run_control_has_value (&t->control, change->name))
        continue;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The run in %s changed “%s” at step %" G_GINT64_FORMAT
                   ", which its graph does not have. Replay it with its own graph.",
                   path, change->name, change->step);
      return FALSE;
    }
  return TRUE;
}

static gboolean
open_folder (LoomTrainer *t, const LoomTrainerOptions *options, GError **error)
{
  const RunFolderContents run = { &t->model, t->data.dataset, t->ranks };
  LoomJson *json;

  if ((options->resume != NULL && !resume (t, options, &run, error))
      || (options->replay != NULL && !read_replay (t, options->replay, error)))
    return FALSE;
  /* A run that was killed before its first checkpoint begins again, including the weights. */
  if (t->folder.events_length == 0 && t->progress.step == 0
      && !initial_weights_load (&t->model, &t->notes, &t->transfer, error))
    return FALSE;
  if (options->branch != NULL)
    return open_branch (t, options, &run, error);
  if (options->resume == NULL && options->out != NULL && rank_group_is_first (&t->group)
      && !run_folder_create (&t->folder, options->out, &run, error))
    return FALSE;
  if (t->transfer == NULL)
    return TRUE;
  json = run_event_new ("weights");
  loom_transfer_add_json (t->transfer, json);
  return run_folder_add_event (&t->folder, json, error);
}

LoomTrainer *
loom_trainer_new (const LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomTrainer) t = g_new0 (LoomTrainer, 1);
  g_autoptr (LoomGraph) read = NULL;
  LoomRunSettings settings = { NULL };
  g_autofree char *device = NULL;

  t->control = (RunControl){ .model = &t->model,
                             .group = &t->group,
                             .plans = &t->plans,
                             .progress = &t->progress,
                             .rates = &t->rates,
                             .folder = &t->folder,
                             .checkpoints = &t->checkpoints,
                             .clock = &t->log.clock,
                             .loop = &t->loop,
                             .observers = &t->observers,
                             .show = report_state,
                             .take_breakpoint = take_breakpoint,
                             .come_back = come_back,
                             .owner = t };
  run_control_init (&t->control);
  run_folder_init (&t->folder, 0);
  t->data.max_steps = options->steps;
  t->data.loader_threads = options->num_workers == 0 ? LOOM_LOADER_AUTO : MAX (options->num_workers, 0);
  t->progress.plateau = (LoomPlateau)LOOM_PLATEAU_INIT;
  t->progress.watch.best = NAN;
  if (options->resume != NULL || options->branch != NULL)
    {
      read = loom_run_read (options->resume != NULL ? options->resume : options->branch, &settings, error);
      if (read == NULL)
        return NULL;
      device = settings.device;
      if (options->resume != NULL)
        t->ranks = settings.ranks;
      else if (settings.ranks > 1)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                       "The run in %s was trained by %d ranks. Only runs of one rank have branches.", options->branch,
                       settings.ranks);
          return NULL;
        }
      graph = read;
    }
  g_return_val_if_fail (graph != NULL, NULL);
  if (options->eager && (options->comm != NULL || options->trace != NULL))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "The eager executor trains on one rank, and without a trace. Leave out %s, or use --executor plan.",
                   options->trace != NULL ? "--trace" : "--ranks");
      return NULL;
    }
  t->model.threads = options->threads > 0 ? options->threads : settings.threads;
  t->model.eager = options->eager;
  t->observers
      = (TrainObservers){ .model = &t->model,
                          .data = &t->data,
                          .plans = &t->plans,
                          .made = note_snapshots,
                          .made_data = t,
                          .trace = { .path = g_strdup (options->trace), .is_optional = options->trace_optional } };
  if (!read_model_graph (&t->model, graph, options, &t->notes, error) || !open_ranks (t, options, error))
    return NULL;
  train_observers_init (&t->observers, &t->group, &t->progress);
  t->model.device = g_strdup (options->device != NULL ? options->device
                              : device != NULL        ? device
                                                      : t->model.spec->device);
  if (!train_data_open (&t->data, &t->model, &t->group, options->samples, &t->notes, error))
    return NULL;
  t->model.spec->schedule.steps_per_epoch = t->data.steps_per_epoch;
  if (!read_model_device (&t->model, options, &t->notes, error))
    return NULL;
  device_memory_init (&t->observers.memory, &t->model);
  t->model.state = loom_state_new (t->model.devices, t->model.device, t->model.spec->seed);
  loom_state_set_mesh (t->model.state, rank_group_mesh (&t->group));
  if (!make_steps (t, options, error))
    return NULL;
  make_records (t, options);
  t->machine = (TimeMachine){ .model = &t->model,
                              .data = &t->data,
                              .group = &t->group,
                              .progress = &t->progress,
                              .rates = &t->rates,
                              .loop = &t->loop,
                              .batches = &t->batches,
                              .log = &t->log,
                              .folder = &t->folder,
                              .checkpoints = &t->checkpoints,
                              .evaluation = &t->evaluation,
                              .epoch_end = &t->epoch_end,
                              .watched = &t->observers.watched };
  t->walk = (StepWalk){ .model = &t->model, .group = &t->group, .loop = &t->loop };
  t->breakpoints = (Breakpoints){
    .model = &t->model, .group = &t->group, .loop = &t->loop, .report = report_breakpoint, .data = t
  };
  breakpoints_init (&t->breakpoints);
  return open_folder (t, options, error) ? g_steal_pointer (&t) : NULL;
}
