/* Builds a trainer.
 *
 * A trainer is ready to step when loom_trainer_new() returns: graph checked, data open, devices open, the step of the
 * full batch planned, state initialised or restored. So every fault is reported before the first step. */
#include "engine/train/trainer-private.h"

#include "engine/train/read-model.h"
#include "engine/train/run-opening.h"
#include "engine/train/run-parts.h"

/* ---- functions that parts call ---------------------------------------- */

static void
note_memory (gpointer data)
{
  LoomTrainer *t = data;

  device_memory_query (&t->observers.memory);
  run_observer_memory (&t->observer);
}

static void
note_snapshots (gpointer data)
{
  LoomTrainer *t = data;

  if (t->control.inbox.active)
    run_observer_memory (&t->observer);
}

static void
report_eval (const LoomTrainerEval *eval, gpointer data)
{
  run_observer_eval (eval, &((LoomTrainer *)data)->observer);
}

static void
report_state (const char *state, gpointer data)
{
  run_observer_state (state, &((LoomTrainer *)data)->observer);
}

static int
find_rank (gpointer data)
{
  return breakpoints_rank (data);
}

static gboolean
take_breakpoint (const char *name, double value, gpointer data)
{
  return breakpoints_take (&((LoomTrainer *)data)->breakpoints, name, value);
}

static gboolean
poll_evaluation (gboolean *yields, gpointer data, GError **error)
{
  return run_control_poll_evaluation (&((LoomTrainer *)data)->control, yields, error);
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
  int rank, shards;

  if (!rank_group_open (&t->group, options->comm, t->model.spec, !options->no_epochs, &t->notes, error))
    return FALSE;
  if (options->resume != NULL && !options->no_epochs)
    rank_group_note_fewer (&t->group, t->model.spec, t->ranks, &t->notes);
  t->rounds.server = server_rounds_open (&t->model, &t->group, &t->observers.trace, error);
  if (t->group.has_server && t->rounds.server == NULL)
    return FALSE;
  rank_group_shard (&t->group, &rank, &shards);
  if (t->ranks == 0)
    t->ranks = shards;
  t->model.spec->batch_size *= t->ranks;
  t->budget = (MemoryBudget){ &t->model, &t->data, &t->group, t->ranks };
  return TRUE;
}

/* ---- devices and plans ------------------------------------------------ */

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
  plan = step_plans_get (&t->plans, train_data_first_batch (&t->data, &t->model, &t->group), TRUE, error);
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
  t->batch_size = (BatchSize){ &t->model, &t->data, &t->group, &t->plans, &t->batches, &t->progress, &t->ranks };
  return TRUE;
}

/* Makes the parts that count, report, evaluate and write. */
static void
make_records (LoomTrainer *t, const LoomTrainerOptions *options)
{
  const double seconds = options->checkpoint_seconds > 0 ? options->checkpoint_seconds : 30;

  run_folder_init (&t->folder, t->data.total_steps);
  t->checkpoints = (Checkpoints){ .run = { &t->model, &t->data, &t->rates, step_plans_first (&t->plans) },
                                  .folder = &t->folder,
                                  .group = &t->group,
                                  .keeps = options->out != NULL || options->resume != NULL,
                                  .interval = (gint64)(seconds * G_USEC_PER_SEC),
                                  .written = run_observer_checkpoint,
                                  .written_data = &t->observer };
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
  t->rounds = (ServerRounds){ .server = t->rounds.server,
                              .data = &t->data,
                              .plans = &t->plans,
                              .rates = &t->rates,
                              .log = &t->log,
                              .failure = &t->failure,
                              .progress = &t->progress,
                              .checkpoints = &t->checkpoints,
                              .inbox = &t->control.inbox,
                              .reports = &t->observers.reports };
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
                             .early_stop = run_observer_early_stop,
                             .owner = &t->observer };
}

LoomTrainer *
loom_trainer_new (const LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  g_autoptr (LoomTrainer) t = g_new0 (LoomTrainer, 1);
  g_autoptr (LoomGraph) read = NULL;
  LoomRunSettings settings = { NULL };
  const gint64 history = options->history == 0 ? HISTORY_BUDGET : MAX (options->history, 0);
  g_autofree char *device = NULL;
  gboolean is_read;

  t->control = (RunControl){ .model = &t->model,
                             .group = &t->group,
                             .plans = &t->plans,
                             .progress = &t->progress,
                             .rates = &t->rates,
                             .batch_size = &t->batch_size,
                             .notes = &t->notes,
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
  train_progress_init (&t->progress);
  is_read = read_model_options (options, &read, &settings, error);
  device = settings.device;
  if (!is_read)
    return NULL;
  graph = read != NULL ? read : graph;
  g_return_val_if_fail (graph != NULL, NULL);
  t->ranks = options->resume != NULL ? settings.ranks : 0;
  t->model.threads = options->threads > 0 ? options->threads : settings.threads;
  t->model.eager = options->eager;
  t->observers
      = (TrainObservers){ .model = &t->model,
                          .data = &t->data,
                          .plans = &t->plans,
                          .made = note_snapshots,
                          .made_data = t,
                          .is_past = &t->machine.is_away,
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
                              .batch_size = &t->batch_size,
                              .loop = &t->loop,
                              .log = &t->log,
                              .folder = &t->folder,
                              .checkpoints = &t->checkpoints,
                              .evaluation = &t->evaluation,
                              .epoch_end = &t->epoch_end,
                              .watched = &t->observers.watched,
                              .disk = { .run = t->checkpoints.run,
                                        .folder = &t->folder,
                                        .group = &t->group,
                                        .notes = &t->notes,
                                        .history = { .budget = history } } };
  folder_history_init (&t->machine.disk);
  moments_init (&t->machine.moments, &t->machine.disk.run, MOMENTS_BUDGET);
  t->walk = (StepWalk){ .model = &t->model,
                        .group = &t->group,
                        .loop = &t->loop,
                        .watched = &t->observers.watched,
                        .find_rank = find_rank,
                        .data = &t->breakpoints };
  t->breakpoints = (Breakpoints){ .model = &t->model,
                                  .group = &t->group,
                                  .loop = &t->loop,
                                  .watched = &t->observers.watched,
                                  .report = run_observer_breakpoint,
                                  .data = &t->observer };
  breakpoints_init (&t->breakpoints);
  t->begins = g_array_new (FALSE, FALSE, sizeof (guint));
  const RunOpening opening
      = { &t->model,  &t->data,        &t->group,   &t->control, t->ranks,     &t->progress, &t->rates,
          &t->folder, &t->checkpoints, &t->machine, &t->replay,  &t->transfer, t->begins,    &t->notes };

  return run_opening_do (&opening, options, error) ? g_steal_pointer (&t) : NULL;
}
