/* Implements part-bench.h. */
#include "tests/train/part-bench.h"

static void
base_init_rank (Base *b, const char *xml, LoomComm *comm)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  StepTrace none = { NULL };
  int rank;

  g_assert_no_error (error);
  *b = (Base){ .model = { .device = g_strdup ("cpu"), .threads = 1 } };
  b->model.graph = loom_graph_freeze (graph);
  b->model.net = loom_net_new (b->model.graph, NULL, faults);
  b->model.spec = loom_train_spec_new (b->model.graph, b->model.net, faults);
  g_assert_true (loom_faults_to_error (faults, "test", &error));
  b->model.devices = loom_devices_new (1);
  b->model.state = loom_state_new (b->model.devices, "cpu", b->model.spec->seed);
  g_assert_true (rank_group_open (&b->group, comm, b->model.spec, TRUE, &b->notes, &error));
  b->server = server_rounds_open (&b->model, &b->group, &none, &error);
  g_assert_no_error (error);
  rank_group_shard (&b->group, &rank, &b->ranks);
  b->model.spec->batch_size *= b->ranks;
  g_assert_true (train_data_open (&b->data, &b->model, &b->group, 0, &b->notes, &error));
  b->model.spec->schedule.steps_per_epoch = b->data.steps_per_epoch;
  b->budget = (MemoryBudget){ &b->model, &b->data, &b->group, b->ranks };
  b->plans = (StepPlans){
    .model = &b->model, .data = &b->data, .group = &b->group, .budget = &b->budget, .notes = &b->notes
  };
  step_plans_init (&b->plans);
  g_assert_nonnull (step_plans_get (&b->plans, train_data_first_batch (&b->data, &b->model, &b->group), TRUE, &error));
  b->progress.plateau = (LoomPlateau)LOOM_PLATEAU_INIT;
  b->progress.metrics = metric_sums_new (b->model.spec, step_plans_first (&b->plans)->step);
  g_assert_true (step_plans_make_update (&b->plans, &error));
  learning_rates_init (&b->rates, &b->model, b->data.steps_per_epoch, &b->progress);
}

void
base_init (Base *b, const char *xml)
{
  base_init_rank (b, xml, NULL);
}

void
base_clear (Base *b)
{
  rank_server_free (b->server);
  rank_group_close (&b->group);
  step_plans_clear (&b->plans);
  train_data_clear (&b->data);
  learning_rates_clear (&b->rates);
  train_progress_clear (&b->progress);
  train_model_clear (&b->model);
  train_notes_clear (&b->notes);
}

static void
keep_loss (const LoomTrainerStep *step, gpointer data)
{
  Bench *b = data;

  g_assert_cmpint (step->step, ==, b->n + 1);
  b->loss[b->n++] = step->loss;
}

static gboolean
poll_nothing (gboolean *yields, gpointer data, GError **error)
{
  *yields = FALSE;
  return TRUE;
}

static void
report_nothing (const LoomTrainerEval *eval, gpointer data)
{
}

void
bench_init (Bench *b, const char *xml, LoomComm *comm)
{
  Base *base = &b->base;

  *b = (Bench){ .n = 0 };
  base_init_rank (base, xml, comm);
  g_assert_true (batch_queue_init (&b->batches, base->data.loader, step_plans_first (&base->plans), FALSE, NULL));
  run_folder_init (&b->folder, base->data.total_steps);
  b->checkpoints = (Checkpoints){ .run = { &base->model, &base->data, &base->rates, step_plans_first (&base->plans) },
                                  .folder = &b->folder,
                                  .group = &base->group,
                                  .keeps = TRUE,
                                  .interval = G_MAXINT64 };
  device_memory_init (&b->memory, &base->model);
  b->log = (StepLog){ .data = &base->data,
                      .progress = &base->progress,
                      .folder = &b->folder,
                      .checkpoints = &b->checkpoints,
                      .memory = &b->memory,
                      .report = keep_loss,
                      .report_data = b };
  step_log_init (&b->log, base->model.spec, step_plans_first (&base->plans)->step);
  step_clock_start (&b->log.clock, 0);
  b->failure = (StepFailure){ .search = { &base->model, &base->data, &base->group }, .log = &b->log };
  b->reports.group = &base->group;
  b->loop = (TrainingLoop){ .model = &base->model,
                            .data = &base->data,
                            .group = &base->group,
                            .plans = &base->plans,
                            .batches = &b->batches,
                            .rates = &base->rates,
                            .log = &b->log,
                            .failure = &b->failure,
                            .trace = &b->trace,
                            .reports = &b->reports,
                            .timings = &b->timings };
  training_loop_init (&b->loop);
  b->evaluation = (Evaluation){ .model = &base->model,
                                .data = &base->data,
                                .group = &base->group,
                                .plans = &base->plans,
                                .progress = &base->progress,
                                .folder = &b->folder,
                                .metric_name = b->log.metric_name,
                                .poll = poll_nothing,
                                .report = report_nothing };
  evaluation_init (&b->evaluation);
  b->end = (EpochEnd){ .model = &base->model,
                       .data = &base->data,
                       .group = &base->group,
                       .progress = &base->progress,
                       .log = &b->log,
                       .evaluation = &b->evaluation,
                       .folder = &b->folder,
                       .checkpoints = &b->checkpoints };
}

char *
bench_create_folder (Bench *b)
{
  char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (top, "run", NULL);
  g_autoptr (GError) error = NULL;

  run_folder_create (&b->folder, path, &(RunFolderContents){ &b->base.model, b->base.data.dataset, 1 }, &error);
  g_assert_no_error (error);
  return top;
}

void
bench_steps (Bench *b, int n)
{
  g_autoptr (GError) error = NULL;

  train_progress_begin_epoch (&b->base.progress);
  loom_loader_start (b->base.data.loader, b->base.progress.epoch, b->base.progress.batch);
  for (int i = 0; i < n; i++)
    {
      g_assert_true (training_loop_step (&b->loop, &error));
      g_assert_no_error (error);
    }
  g_assert_true (training_loop_finish (&b->loop, &error));
}

void
bench_clear (Bench *b)
{
  batch_queue_drop (&b->batches);
  evaluation_clear (&b->evaluation);
  training_loop_clear (&b->loop);
  step_failure_clear (&b->failure);
  step_log_clear (&b->log);
  run_folder_clear (&b->folder);
  base_clear (&b->base);
}
