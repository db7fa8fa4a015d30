/* The parts of a run, each constructed without the trainer. */
#include "engine/infer/loom-run-files.h"
#include "engine/run/run-private.h"
#include "engine/train/agreement.h"
#include "engine/train/epoch-end.h"
#include "engine/train/inbox.h"
#include "engine/train/run-control.h"
#include "engine/train/run-failure.h"
#include "engine/train/run-fingerprint.h"
#include "engine/train/run-observer.h"
#include "engine/train/run-opening.h"
#include "engine/train/server-rounds.h"
#include "engine/train/training-loop.h"
#include "engine/train/walk-requests.h"
#include "engine/train/watched-state.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>
#include <math.h>

#define STEPS 6

#define NET(TRAIN)                                                                                                     \
  TRAIN_TEST_SPIRALS ("n=\"96\" n_test=\"8\"", "4")                                                                    \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.02\" batch_size=\"16\" epochs=\"2\" seed=\"5\" "                     \
  "device=\"cpu\" " TRAIN                                                                                              \
  "><schedule type=\"cosine\"/><metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>"

/* ---- a model, its data and its plans ---------------------------------- */

typedef struct
{
  TrainModel model;
  RankGroup group;
  TrainData data;
  TrainNotes notes;
  MemoryBudget budget;
  StepPlans plans;
  TrainProgress progress;
  LearningRates rates;
} Base;

static void
base_init (Base *b, const char *xml)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);

  g_assert_no_error (error);
  *b = (Base){ .model = { .device = g_strdup ("cpu"), .threads = 1 } };
  b->model.graph = loom_graph_freeze (graph);
  b->model.net = loom_net_new (b->model.graph, NULL, faults);
  b->model.spec = loom_train_spec_new (b->model.graph, b->model.net, faults);
  g_assert_true (loom_faults_to_error (faults, "test", &error));
  b->model.devices = loom_devices_new (1);
  b->model.state = loom_state_new (b->model.devices, "cpu", b->model.spec->seed);
  g_assert_true (rank_group_open (&b->group, NULL, b->model.spec, TRUE, &b->notes, &error));
  g_assert_true (train_data_open (&b->data, &b->model, &b->group, 0, &b->notes, &error));
  b->model.spec->schedule.steps_per_epoch = b->data.steps_per_epoch;
  b->budget = (MemoryBudget){ &b->model, &b->data, &b->group, 1 };
  b->plans = (StepPlans){
    .model = &b->model, .data = &b->data, .group = &b->group, .budget = &b->budget, .notes = &b->notes
  };
  step_plans_init (&b->plans);
  g_assert_nonnull (step_plans_get (&b->plans, b->model.spec->batch_size, TRUE, &error));
  b->progress.plateau = (LoomPlateau)LOOM_PLATEAU_INIT;
  b->progress.metrics = metric_sums_new (b->model.spec, step_plans_first (&b->plans)->step);
  g_assert_true (step_plans_make_update (&b->plans, &error));
  learning_rates_init (&b->rates, &b->model, b->data.steps_per_epoch, &b->progress);
}

static void
base_clear (Base *b)
{
  step_plans_clear (&b->plans);
  train_data_clear (&b->data);
  learning_rates_clear (&b->rates);
  train_progress_clear (&b->progress);
  train_model_clear (&b->model);
  train_notes_clear (&b->notes);
}

/* ---- a loop and its observers ----------------------------------------- */

typedef struct
{
  Base base;
  BatchQueue batches;
  RunFolder folder;
  Checkpoints checkpoints;
  DeviceMemory memory;
  StepLog log;
  StepFailure failure;
  StepTrace trace;
  RankReports reports;
  StepTimings timings;
  TrainingLoop loop;
  double loss[STEPS];
  int n;
} Bench;

static void
keep_loss (const LoomTrainerStep *step, gpointer data)
{
  Bench *b = data;

  g_assert_cmpint (step->step, ==, b->n + 1);
  b->loss[b->n++] = step->loss;
}

static void
bench_init (Bench *b, const char *xml)
{
  Base *base = &b->base;

  *b = (Bench){ .n = 0 };
  base_init (base, xml);
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
}

static void
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

static void
bench_clear (Bench *b)
{
  batch_queue_drop (&b->batches);
  training_loop_clear (&b->loop);
  step_failure_clear (&b->failure);
  step_log_clear (&b->log);
  run_folder_clear (&b->folder);
  base_clear (&b->base);
}

typedef struct
{
  double loss[STEPS];
} Losses;

static void
note_step (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  ((Losses *)data)->loss[step->step - 1] = step->loss;
}

/* The loop alone takes the steps that a trainer takes. */
static void
test_loop (gconstpointer xml)
{
  static const LoomTrainerObserver observer = { .step = note_step };
  LoomTrainer *trainer = train_test_new (xml, (LoomTrainerOptions){ .steps = 3 });
  Losses losses;
  Bench b;

  loom_trainer_set_observer (trainer, &observer, &losses);
  g_assert_cmpint (loom_trainer_run (trainer, NULL), ==, LOOM_TRAINER_STOPPED);
  bench_init (&b, xml);
  bench_steps (&b, 3);
  g_assert_cmpint (b.n, ==, 3);
  g_assert_cmpint (b.base.progress.step, ==, 3);
  g_assert_cmpmem (b.loss, 3 * sizeof (double), losses.loss, 3 * sizeof (double));
  for (guint i = 0; i < loom_net_n_weights (b.base.model.net); i++)
    {
      const char *name = loom_net_weight (b.base.model.net, i)->name;
      g_autoptr (LoomTensor) mine = loom_state_get (b.base.model.state, name, NULL);
      g_autoptr (LoomTensor) other = loom_state_get (loom_trainer_state (trainer), name, NULL);

      g_assert_true (loom_tensor_equal_bits (mine, other));
    }
  bench_clear (&b);
  loom_trainer_free (trainer);
}

/* A step whose numbers are not finite is explained, and changes neither the progress nor the weights. */
static void
test_failure (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) weight = NULL, after = NULL;
  Bench b;

  bench_init (&b, NET (""));
  bench_steps (&b, 1);
  weight = loom_state_get (b.base.model.state, "hidden.weight", NULL);
  loom_tensor_set (weight, 0, NAN);
  g_assert_true (loom_state_set (b.base.model.state, "hidden.weight", weight, NULL));
  g_assert_false (training_loop_step (&b.loop, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_assert_nonnull (strstr (error->message, "step 2 (epoch 1)"));
  g_assert_cmpstr (b.failure.place.node, ==, "hidden");
  g_assert_cmpint (b.base.progress.step, ==, 1);
  g_assert_false (b.loop.is_between);
  after = loom_state_get (b.base.model.state, "hidden.weight", NULL);
  g_assert_true (loom_tensor_equal_bits (weight, after));
  bench_clear (&b);
}

static LoomStatus
break_down (LoomKernel *kernel, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  return LOOM_STATUS_DEVICE;
}

/* If a device fails in a batch of a step of several, the state before the step is restored. If it fails in the update,
 * or in a step of one batch, after the gate, the state is between two steps. */
static void
test_half_batch (void)
{
  static const struct
  {
    const char *xml;
    gboolean in_update, is_between;
  } rows[] = { { NET (""), FALSE, TRUE },
               { NET ("accumulate=\"2\""), FALSE, FALSE },
               { NET ("accumulate=\"2\""), TRUE, TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      Bench b;
      LoomExec *exec;

      bench_init (&b, rows[i].xml);
      bench_steps (&b, 1);
      exec = rows[i].in_update ? b.base.plans.update : step_plans_first (&b.base.plans)->exec;
      exec->rows[exec->n_rows - 1].run = break_down;
      g_assert_false (training_loop_step (&b.loop, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE);
      g_assert_cmpint (loom_exec_is_between (exec), ==, TRUE);
      g_assert_cmpint (b.loop.is_between, ==, rows[i].is_between);
      g_assert_cmpint (training_loop_can_begin (&b.loop, NULL), ==, !rows[i].is_between);
      g_assert_cmpint (b.base.progress.step, ==, 1);
      bench_clear (&b);
    }
}

/* ---- plans ------------------------------------------------------------ */

static void
count (gpointer data)
{
  ++*(int *)data;
}

static void
test_plans (void)
{
  g_autoptr (GError) error = NULL;
  int made = 0;
  Base b;

  base_init (&b, NET (""));
  b.plans.made = count;
  b.plans.made_data = &made;
  g_assert_true (step_plans_has (&b.plans, 16));
  g_assert_false (step_plans_has (&b.plans, 8));
  g_assert_true (step_plans_get (&b.plans, 16, TRUE, &error) == step_plans_first (&b.plans));
  g_assert_cmpint (made, ==, 0);
  StepPlan *small = step_plans_get (&b.plans, 8, TRUE, &error);
  g_assert_nonnull (small);
  g_assert_true (step_plans_get (&b.plans, 8, TRUE, &error) == small);
  g_assert_true (step_plans_get (&b.plans, 8, FALSE, &error) != small);
  g_assert_cmpint (made, ==, 2);
  g_assert_true (step_plans_check_memory (&b.plans, &error));
  g_assert_no_error (error);
  base_clear (&b);
}

/* ---- folder ----------------------------------------------------------- */

static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);

      if (g_file_test (file, G_FILE_TEST_IS_DIR))
        remove_folder (file);
      else
        g_unlink (file);
    }
  g_rmdir (path);
}

/* Steps are written in their order with events, and a resumed run continues after those of its checkpoint. */
static void
test_folder (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL), *text = NULL, *cut = NULL;
  g_autoptr (GError) error = NULL;
  static const char epoch[] = "{\"event\":\"epoch\",\"step\":1}";
  LoomRunStep step;
  RunFolder folder;
  gint64 length;
  Base b;

  base_init (&b, NET (""));
  const RunFolderContents contents = { &b.model, b.data.dataset, 1 };
  run_folder_init (&folder, b.data.total_steps);
  g_assert_true (run_folder_add_step (&folder, &(LoomRunStep){ 1, 1, 0.5, 0.1 }, &error)); /* nothing is open */
  g_assert_true (run_folder_create (&folder, path, &contents, &error));
  g_assert_true (run_folder_add_step (&folder, &(LoomRunStep){ 1, 1, 0.5, 0.1 }, &error));
  g_assert_cmpint (folder.events_length, ==, 0);
  g_assert_true (run_folder_sync (&folder, &error));
  length = folder.events_length;
  g_assert_true (run_folder_add_step (&folder, &(LoomRunStep){ 2, 1, 0.25, 0.1 }, &error));
  g_assert_true (run_folder_add_event (&folder, run_event_new ("epoch"), &error));
  run_folder_clear (&folder);
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_cmpstr (text, ==,
                   "{\"event\":\"step\",\"step\":1,\"epoch\":1,\"loss\":0.5,\"lr\":0.1}\n"
                   "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":0.25,\"lr\":0.1}\n{\"event\":\"epoch\"}\n");

  run_folder_init (&folder, b.data.total_steps);
  g_assert_false (run_folder_create (&folder, path, &contents, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_clear_error (&error);
  folder.events_length = length;
  g_assert_true (run_folder_lock (&folder, path, &error));
  g_assert_true (run_folder_open (&folder, NULL, &error));
  run_folder_clear (&folder);
  g_assert_true (g_file_get_contents (events, &cut, NULL, NULL));
  g_assert_cmpint ((gint64)strlen (cut), ==, length);
  g_assert_true (loom_run_event_step (cut, cut + length - 1, &step));
  g_assert_cmpint (step.step, ==, 1);
  g_assert_cmpint (step.epoch, ==, 1);
  g_assert_cmpfloat (step.loss, ==, 0.5);
  g_assert_cmpfloat (step.lr, ==, 0.1);
  g_assert_false (loom_run_event_step (epoch, epoch + strlen (epoch), &step));
  /* Of a long run only some steps. */
  run_folder_init (&folder, 100000);
  g_assert_false (run_folder_records (&folder, 99999));
  g_assert_true (run_folder_records (&folder, 100000));
  base_clear (&b);
  remove_folder (top);
}

/* A checkpoint is read as it was written. */
static void
test_checkpoint (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autoptr (GError) error = NULL;
  gint64 length = -1;
  Bench b;
  Base other;

  bench_init (&b, NET (""));
  g_assert_true (
      run_folder_create (&b.folder, path, &(RunFolderContents){ &b.base.model, b.base.data.dataset, 1 }, &error));
  bench_steps (&b, 2);
  g_assert_true (checkpoints_write (&b.checkpoints, &b.base.progress, &error));
  g_assert_no_error (error);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 2);
  base_init (&other, NET (""));
  const RunState run = { &other.model, &other.data, &other.rates, step_plans_first (&other.plans) };
  g_assert_true (run_state_restore (&run, path, 0, &other.progress, &length, &other.notes, &error));
  g_assert_no_error (error);
  g_assert_null (other.notes.text);
  g_assert_cmpint (length, ==, b.folder.events_length);
  g_assert_cmpint (other.progress.step, ==, 2);
  g_assert_cmpfloat (other.progress.loss_sum, ==, b.base.progress.loss_sum);
  g_assert_cmpfloat (other.progress.base_lr, ==, 0.02);
  g_autoptr (LoomTensor) mine = loom_state_get (b.base.model.state, "scores.weight", NULL);
  g_autoptr (LoomTensor) read = loom_state_get (other.model.state, "scores.weight", NULL);
  g_assert_true (loom_tensor_equal_bits (mine, read));
  base_clear (&other);
  bench_clear (&b);
  remove_folder (top);
}

/* ---- an epoch's end ---------------------------------------------------- */

static gboolean
poll_nothing (gboolean *yields, gpointer data, GError **error)
{
  *yields = FALSE;
  return TRUE;
}

/* A command ends the run during the evaluation. */
static gboolean
poll_stop (gboolean *yields, gpointer data, GError **error)
{
  *yields = TRUE;
  return TRUE;
}

static void
report_nothing (const LoomTrainerEval *eval, gpointer data)
{
}

static void
count_stop (const LoomTrainerWatch *watch, gpointer data)
{
  *(int *)data += watch->best_epoch;
}

static int
n_lines (const char *text, const char *event)
{
  int n = 0;

  while ((text = strstr (text, event)) != NULL)
    {
      text++;
      n++;
    }
  return n;
}

/* An epoch counts after its whole evaluation. One without progress ends the run, and the best weights are those of the
 * epoch before it. */
static void
test_epoch_end (void)
{
  static const char xml[] = NET ("patience=\"1\" monitor=\"accuracy\"");
  g_autofree char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *best = g_build_filename (path, "weights-best.safetensors", NULL), *text = NULL;
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL);
  g_autoptr (GError) error = NULL;
  int stopped_after = 0;
  gboolean yielded;
  Bench b;

  bench_init (&b, xml);
  b.base.progress.watch.best = NAN;
  Evaluation evaluation = { .model = &b.base.model,
                            .data = &b.base.data,
                            .group = &b.base.group,
                            .plans = &b.base.plans,
                            .progress = &b.base.progress,
                            .folder = &b.folder,
                            .metric_name = b.log.metric_name,
                            .poll = poll_stop,
                            .report = report_nothing };
  EpochEnd end = { .model = &b.base.model,
                   .data = &b.base.data,
                   .group = &b.base.group,
                   .progress = &b.base.progress,
                   .log = &b.log,
                   .evaluation = &evaluation,
                   .folder = &b.folder,
                   .checkpoints = &b.checkpoints,
                   .early_stop = count_stop,
                   .owner = &stopped_after };
  evaluation_init (&evaluation);
  g_assert_true (
      run_folder_create (&b.folder, path, &(RunFolderContents){ &b.base.model, b.base.data.dataset, 1 }, &error));
  bench_steps (&b, 6);
  g_assert_true (epoch_end_run (&end, &yielded, &error));
  g_assert_true (yielded);
  g_assert_cmpint (b.base.progress.epoch, ==, 0);
  evaluation.poll = poll_nothing;
  g_assert_true (epoch_end_run (&end, &yielded, &error));
  g_assert_no_error (error);
  g_assert_false (yielded || epoch_end_is_last (&end));
  g_assert_cmpint (b.base.progress.epoch, ==, 1);
  g_assert_true (g_file_test (best, G_FILE_TEST_EXISTS));
  g_assert_cmpint (b.checkpoints.saved_step, ==, 6);
  /* No weights have changed since. */
  g_assert_true (epoch_end_run (&end, &yielded, &error));
  g_assert_true (epoch_end_is_last (&end));
  g_assert_cmpint (stopped_after, ==, 1);
  g_assert_true (run_folder_flush (&b.folder, &error));
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_cmpint (n_lines (text, "\"event\":\"epoch\""), ==, 2);
  g_assert_cmpint (n_lines (text, "\"event\":\"early_stop\""), ==, 1);
  evaluation_clear (&evaluation);
  bench_clear (&b);
  remove_folder (top);
}

/* A failure says after which step it came and how to resume; finished steps are saved unless the failure is of a disk
 * or the step has changed the state. */
static void
test_run_failure (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autoptr (GError) error = NULL, device = g_error_new (LOOM_ERROR, LOOM_ERROR_DEVICE, "The device is lost."),
                     disk = g_error_new (LOOM_ERROR, LOOM_ERROR_IO, "The disk is full.");
  NanPlace place = { 0 };
  Bench b;

  bench_init (&b, NET (""));
  const RunFailure left
      = { &b.base.model, &b.base.group, &b.base.progress, &b.loop, &place, &b.folder, &b.checkpoints };
  g_assert_true (
      run_folder_create (&b.folder, path, &(RunFolderContents){ &b.base.model, b.base.data.dataset, 1 }, &error));
  bench_steps (&b, 2);
  run_failure_save (&left, disk);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 0);
  b.loop.is_between = TRUE;
  run_failure_save (&left, device);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 0);
  b.loop.is_between = FALSE;
  run_failure_save (&left, device);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 2);
  run_failure_explain (&left, device);
  g_assert_true (g_str_has_prefix (device->message, "After 2 steps: The device is lost. Continue with: "));
  g_assert_nonnull (strstr (device->message, "--resume"));
  run_failure_explain (&left, disk);
  g_assert_cmpstr (disk->message, ==, "The disk is full.");
  bench_clear (&b);
  remove_folder (top);
}

/* ---- commands between steps --------------------------------------------- */

static void
note_shown (const char *state, gpointer data)
{
  g_string_append_printf (data, "%s ", state);
}

/* A value that is set reaches the learning rates and the events, a checkpoint is written, and a state is shown once. */
static void
test_control (void)
{
  g_autofree char *top = g_dir_make_tmp ("gradloom-parts-XXXXXX", NULL), *path = g_build_filename (top, "run", NULL);
  g_autofree char *events = g_build_filename (path, LOOM_RUN_EVENTS, NULL), *text = NULL;
  g_autoptr (GString) shown = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  TrainAction action;
  Bench b;

  bench_init (&b, NET (""));
  TrainObservers observers = { .model = &b.base.model, .data = &b.base.data, .plans = &b.base.plans };
  RunControl control = { .model = &b.base.model,
                         .group = &b.base.group,
                         .plans = &b.base.plans,
                         .progress = &b.base.progress,
                         .rates = &b.base.rates,
                         .folder = &b.folder,
                         .checkpoints = &b.checkpoints,
                         .clock = &b.log.clock,
                         .loop = &b.loop,
                         .observers = &observers,
                         .show = note_shown,
                         .owner = shown };
  run_control_init (&control);
  train_observers_init (&observers, &b.base.group, &b.base.progress);
  g_assert_true (
      run_folder_create (&b.folder, path, &(RunFolderContents){ &b.base.model, b.base.data.dataset, 1 }, &error));
  bench_steps (&b, 2);
  g_assert_true (run_control_has_value (&control, "beta1") || run_control_has_value (&control, "betas"));
  g_assert_false (run_control_has_value (&control, "no such value"));
  inbox_begin (&control.inbox);
  g_assert_false (run_control_is_wanted (&control));
  inbox_post (&control.inbox, LOOM_COMMAND_SET_HYPER, "lr", 0.5);
  inbox_post (&control.inbox, LOOM_COMMAND_CHECKPOINT, NULL, 0);
  g_assert_true (run_control_is_wanted (&control));
  g_assert_true (run_control_poll (&control, &action, &error));
  g_assert_no_error (error);
  g_assert_cmpint (action, ==, TRAIN_CONTINUE);
  g_assert_cmpfloat (b.base.progress.base_lr, ==, 0.5);
  g_assert_cmpint (b.checkpoints.saved_step, ==, 2);
  inbox_post (&control.inbox, LOOM_COMMAND_STOP, NULL, 0);
  g_assert_true (run_control_poll (&control, &action, &error));
  g_assert_cmpint (action, ==, TRAIN_STOP);
  run_control_show (&control, "stopped");
  g_assert_cmpstr (shown->str, ==, "running stopped ");
  inbox_end (&control.inbox);
  g_assert_true (run_folder_flush (&b.folder, &error));
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "{\"event\":\"hyper\",\"step\":2,\"name\":\"lr\",\"value\":0.5,\"before\":"));
  run_control_clear (&control);
  train_observers_clear (&observers);
  bench_clear (&b);
  remove_folder (top);
}

/* ---- inbox ------------------------------------------------------------ */

typedef struct
{
  Inbox inbox;
  GString *log;
  gboolean can_stand;
} Owner;

static gboolean
obey (const TrainCommand *command, gpointer data, GError **error)
{
  g_string_append_printf (((Owner *)data)->log, "%s=%g ", command->name, command->value);
  return TRUE;
}

static gboolean
serve (TrainRequest *request, gboolean fresh, gpointer data)
{
  g_string_append_printf (((Owner *)data)->log, "%s%s ", request->port, fresh ? "!" : "");
  request->step = 7;
  return FALSE;
}

static gboolean
can_serve (const TrainRequest *request, gpointer data)
{
  return TRUE;
}

static gboolean
can_stand (gboolean stops, gpointer data)
{
  return ((Owner *)data)->can_stand;
}

/* What another thread does to a run that is paused. */
static gboolean
pause_run (gpointer data, GError **error)
{
  Owner *owner = data;

  g_string_append (owner->log, "paused ");
  inbox_post (&owner->inbox, LOOM_COMMAND_STEP, NULL, 0);
  return TRUE;
}

static void
resume_run (gpointer data)
{
}

static void
test_inbox (void)
{
  Owner owner = { .log = g_string_new (NULL) };
  const InboxOwner functions = { obey, serve, can_serve, can_stand, pause_run, resume_run, &owner };
  g_autoptr (GError) error = NULL;
  TrainRequest request = { .port = "fc" };
  TrainAction action;
  Inbox *inbox = &owner.inbox;

  inbox_init (inbox, &functions);
  /* If no thread computes, a request is served at once. */
  g_assert_null (inbox_ask (inbox, &request, &error));
  g_assert_cmpint (request.step, ==, 7);
  g_assert_false (inbox_is_pending (inbox));
  inbox_begin (inbox);
  inbox_post (inbox, LOOM_COMMAND_SET_HYPER, "lr", 0.5);
  inbox_post (inbox, LOOM_COMMAND_PAUSE, NULL, 0);
  g_assert_true (inbox_is_pending (inbox));
  g_assert_true (inbox_will_stand (inbox));
  /* The pause waits for a step, and the commands after it wait, too. */
  g_assert_true (inbox_poll (inbox, FALSE, &action, &error));
  g_assert_cmpstr (owner.log->str, ==, "fc! lr=0.5 ");
  g_assert_false (inbox_pauses (inbox));
  g_assert_true (inbox_is_pending (inbox));
  owner.can_stand = TRUE;
  g_assert_true (inbox_poll (inbox, FALSE, &action, &error));
  g_assert_cmpstr (owner.log->str, ==, "fc! lr=0.5 paused ");
  g_assert_true (inbox_pauses (inbox));
  g_assert_true (inbox_take_single (inbox));
  g_assert_false (inbox_take_single (inbox));
  /* An evaluation leaves the command that ends the run in the queue. */
  inbox_post (inbox, LOOM_COMMAND_STOP, NULL, 0);
  g_assert_true (inbox_must_end (inbox, FALSE));
  g_assert_true (inbox_poll (inbox, TRUE, &action, &error));
  g_assert_cmpint (action, ==, TRAIN_STOP);
  g_assert_true (inbox_must_end (inbox, FALSE));
  g_assert_true (inbox_poll (inbox, FALSE, &action, &error));
  g_assert_cmpint (action, ==, TRAIN_STOP);
  g_assert_false (inbox_must_end (inbox, FALSE));
  inbox_end (inbox);
  inbox_clear (inbox);
  g_string_free (owner.log, TRUE);
}

/* ---- observers -------------------------------------------------------- */

/* While the run stands still after a step, the state before its update is shown. */
static void
test_watched (void)
{
  g_autoptr (LoomTensor) before = NULL, shown = NULL, now = NULL;
  WatchedState watched;
  Bench b;

  bench_init (&b, NET (""));
  watched_state_init (&watched, &b.base.model, &b.base.group, &b.base.progress);
  watched.is_shown = TRUE;
  watched_state_begin (&watched);
  bench_steps (&b, 1);
  g_assert_false (watched_state_can_stand (&watched, FALSE));
  before = loom_state_get (b.base.model.state, "hidden.weight", NULL);
  watched_state_keep (&watched);
  g_assert_true (training_loop_step (&b.loop, NULL) && training_loop_finish (&b.loop, NULL));
  g_assert_true (watched_state_can_stand (&watched, FALSE));
  g_assert_true (watched_state_of_step (&watched, FALSE) == &watched.now);
  StateCopy *last = watched_state_of_step (&watched, TRUE);
  g_assert_true (last == &watched.last);
  g_assert_cmpint (watched_state_step (&watched, last, TRUE), ==, 1);
  shown = watched_state_slot (&watched, last, "hidden.weight", NULL);
  now = watched_state_slot (&watched, &watched.now, "hidden.weight", NULL);
  g_assert_true (loom_tensor_equal_bits (shown, before));
  g_assert_false (loom_tensor_equal_bits (shown, now));
  watched_state_clear (&watched);
  bench_clear (&b);
}

/* One step is recorded, and its text names what it computed. */
static void
test_trace (void)
{
  Bench b;

  bench_init (&b, NET (""));
  b.trace.model = &b.base.model;
  b.trace.group = &b.base.group;
  g_assert_false (step_trace_is_due (&b.trace, 1));
  g_assert_nonnull (strstr (step_trace_text (&b.trace), "traceEvents"));
  g_assert_true (step_trace_is_due (&b.trace, 1));
  bench_steps (&b, 2);
  g_assert_false (b.trace.wanted || b.trace.active);
  g_assert_nonnull (strstr (step_trace_text (&b.trace), "step 1"));
  g_assert_nonnull (strstr (step_trace_text (&b.trace), "hidden"));
  step_trace_clear (&b.trace);
  bench_clear (&b);
}

/* ---- ranks ------------------------------------------------------------ */

#define RANKS 3

typedef struct
{
  LoomComm *comm;
  GString *set;
  char *losses;
} Member;

static gboolean
note_value (const char *name, double value, gpointer data, GError **error)
{
  g_string_append_printf (data, "%s=%g ", name, value);
  return TRUE;
}

static gpointer
run_member (gpointer data)
{
  Member *member = data;
  const RankGroup group = { .comm = member->comm };
  const int rank = member->comm->rank;
  Agreement agreement = { .group = &group };
  AgreedStep step = { .action = rank == 0 ? TRAIN_STOP : TRAIN_CONTINUE, .reports = rank == 0 };
  RankReports reports = { .group = &group, .on = RANK_REPORT_LOSSES };
  gint64 own = 10 - rank, most = 0;

  member->set = g_string_new (NULL);
  agreement_note_value (&agreement, "lr", 0.25, FALSE);
  agreement_note_value (&agreement, "momentum", 0.5, FALSE);
  g_assert_true (rank_group_max (&group, &own, &most, 1, NULL));
  g_assert_cmpint (most, ==, 10);
  g_assert_true (rank_group_wait_for_first (&group, NULL));
  g_assert_true (agreement_pass_on (&agreement, &step, note_value, member->set, NULL));
  g_assert_cmpint (step.action, ==, TRAIN_STOP);
  g_assert_cmpint (step.reports, ==, 1);

  rank_reports_init (&reports);
  g_free (rank == 0 ? rank_reports_losses (&reports) : NULL);
  rank_reports_batch (&reports, rank == 2 ? NAN : 1 + rank, 0, 1);
  g_assert_true (rank_reports_step (&reports, 4, 1.5, NULL));
  member->losses = rank == 0 ? rank_reports_losses (&reports) : NULL;
  rank_reports_clear (&reports);
  agreement_clear (&agreement);
  return NULL;
}

static void
test_ranks (void)
{
  LoomComm *comm[RANKS];
  GThread *thread[RANKS];
  Member member[RANKS] = { 0 };
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (RANKS, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < RANKS; k++)
    {
      member[k].comm = comm[k];
      thread[k] = g_thread_new ("rank", run_member, &member[k]);
    }
  for (int k = 0; k < RANKS; k++)
    g_thread_join (thread[k]);
  g_assert_cmpstr (member[0].losses, ==, "{\"step\":4,\"loss\":1.5,\"ranks\":[1,2,null]}\n");
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_cmpstr (member[k].set->str, ==, k == 0 ? "" : "lr=0.25 momentum=0.5 ");
      g_string_free (member[k].set, TRUE);
      g_free (member[k].losses);
      comm[k]->free (comm[k]);
    }
}

/* ---- requests for a walk ------------------------------------------------ */

static gboolean
serve_call (TrainRequest *request, gboolean fresh, gpointer data)
{
  request->call (request->call_data, &request->error);
  return FALSE;
}

static void
test_walk_requests (void)
{
  Owner owner = { .log = g_string_new (NULL) };
  const InboxOwner functions = { obey, serve_call, can_serve, can_stand, pause_run, resume_run, &owner };
  const char *const ports[] = { "scores", "grad:scores", "no_such_port" };
  LoomPortSummary value[3];
  LoomStepperPlace place;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) scores = NULL;
  double scale, element, gradient;
  gint64 step = 0;
  StepWalk walk;
  GArray *chain;
  Bench b;

  bench_init (&b, NET (""));
  walk = (StepWalk){ .model = &b.base.model, .group = &b.base.group, .loop = &b.loop };
  inbox_init (&owner.inbox, &functions);
  g_assert_null (walk_requests_port (&owner.inbox, &walk, "scores", &scale, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_false (
      walk_requests_command (&owner.inbox, &walk, &(LoomWalkCommand){ LOOM_WALK_MOVE }, &place, &step, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_true (
      walk_requests_command (&owner.inbox, &walk, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place, &step, &error));
  g_assert_no_error (error);
  g_assert_cmpint (step, ==, 1);
  g_assert_true (walk_requests_command (&owner.inbox, &walk,
                                        &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD },
                                        &place, &step, &error));
  g_assert_no_error (error);
  g_assert_true (walk_requests_values (&owner.inbox, &walk, 2, ports, value, &error));
  g_assert_no_error (error);
  scores = walk_requests_port (&owner.inbox, &walk, "scores", &scale, &error);
  g_assert_no_error (error);
  g_assert_cmpint (scores->dim[0], ==, 16);
  chain = walk_requests_derivatives (&owner.inbox, &walk, "scores", 0, &element, &gradient, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (chain->len, >, 0);
  g_array_unref (chain);
  g_assert_cmpfloat (element, ==, ((const float *)scores->data)[0]);
  walk_requests_end (&owner.inbox, &walk);
  g_assert_false (walk.is_begun);
  inbox_clear (&owner.inbox);
  g_string_free (owner.log, TRUE);
  bench_clear (&b);
}

/* ---- fingerprint and opening ------------------------------------------------ */

static void
test_fingerprint (void)
{
  guint64 one[LOOM_TRAINER_N_PARTS], other[LOOM_TRAINER_N_PARTS];
  Base b, c;

  base_init (&b, NET (""));
  base_init (&c, NET ("weight_decay=\"0.1\""));
  run_fingerprint (&b.model, &b.data, &b.progress, FALSE, TRUE, one);
  c.progress.step = 3;
  run_fingerprint (&c.model, &c.data, &c.progress, TRUE, TRUE, other);
  for (guint i = 0; i < LOOM_TRAINER_N_PARTS; i++)
    g_assert_cmpint (one[i] != other[i], ==,
                     g_str_equal (loom_trainer_parts[i], "graph") || g_str_equal (loom_trainer_parts[i], "--trace")
                         || g_str_equal (loom_trainer_parts[i], "step to begin at"));
  base_clear (&b);
  base_clear (&c);
}

static void
note_state (LoomTrainer *trainer, const char *state, gpointer data)
{
  g_assert_null (trainer);
  g_string_append_printf (data, "%s ", state);
}

static void
test_observer (void)
{
  g_autoptr (GString) log = g_string_new (NULL);
  RunObserver observer = { .functions = { .state = note_state }, .data = log };
  StepTrace trace = { .path = g_strdup ("trace.json"), .is_optional = TRUE };
  g_autoptr (GError) error = NULL;
  Base b;

  run_observer_state ("running", &observer);
  run_observer_note ("No function for notes.", &observer);
  run_observer_memory (&observer);
  g_assert_cmpstr (log->str, ==, "running ");

  /* A run without a server opens none, and keeps its trace. */
  base_init (&b, NET (""));
  g_assert_null (server_rounds_open (&b.model, &b.group, &trace, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (trace.path, ==, "trace.json");
  g_free (trace.path);
  g_assert_cmpint (train_data_first_batch (&b.data, &b.model, &b.group), ==, 16);
  run_failure_interrupted (&b.group, &(RunFolder){ .path = NULL }, 3, &error);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED);
  base_clear (&b);
}

/* A run with a folder begins with graph.xml; the same folder is refused for a second run, and resumed where it is. */
static void
test_opening (void)
{
  g_autofree char *top = g_dir_make_tmp ("opening-XXXXXX", NULL), *folder = g_build_filename (top, "run", NULL);
  g_autofree char *graph = g_build_filename (folder, LOOM_RUN_GRAPH, NULL);
  LoomTrainerOptions options = { .lr = NAN, .seed = -1 };
  g_autoptr (GError) error = NULL;
  LoomTransfer *transfer = NULL;
  LiveChanges replay = { NULL };
  RunOpening opening;
  Bench b;

  bench_init (&b, NET (""));
  opening = (RunOpening){ .model = &b.base.model,
                          .data = &b.base.data,
                          .group = &b.base.group,
                          .ranks = 1,
                          .progress = &b.base.progress,
                          .rates = &b.base.rates,
                          .folder = &b.folder,
                          .checkpoints = &b.checkpoints,
                          .replay = &replay,
                          .transfer = &transfer,
                          .notes = &b.base.notes };
  options.out = folder;
  g_assert_true (run_opening_do (&opening, &options, &error));
  g_assert_no_error (error);
  g_assert_null (transfer);
  g_assert_true (g_file_test (graph, G_FILE_TEST_EXISTS));
  bench_clear (&b);

  bench_init (&b, NET (""));
  g_assert_false (run_opening_do (&opening, &options, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_clear_error (&error);
  options.out = NULL;
  options.replay = folder;
  g_assert_true (run_opening_do (&opening, &options, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (replay.list->len, ==, 0);
  live_changes_clear (&replay);
  bench_clear (&b);
  remove_folder (top);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/parts/loop", NET (""), test_loop);
  g_test_add_data_func ("/parts/loop-accumulated", NET ("accumulate=\"2\""), test_loop);
  g_test_add_func ("/parts/failure", test_failure);
  g_test_add_func ("/parts/half-batch", test_half_batch);
  g_test_add_func ("/parts/plans", test_plans);
  g_test_add_func ("/parts/folder", test_folder);
  g_test_add_func ("/parts/checkpoint", test_checkpoint);
  g_test_add_func ("/parts/epoch-end", test_epoch_end);
  g_test_add_func ("/parts/run-failure", test_run_failure);
  g_test_add_func ("/parts/control", test_control);
  g_test_add_func ("/parts/inbox", test_inbox);
  g_test_add_func ("/parts/watched", test_watched);
  g_test_add_func ("/parts/trace", test_trace);
  g_test_add_func ("/parts/ranks", test_ranks);
  g_test_add_func ("/parts/walk-requests", test_walk_requests);
  g_test_add_func ("/parts/fingerprint", test_fingerprint);
  g_test_add_func ("/parts/observer", test_observer);
  g_test_add_func ("/parts/opening", test_opening);
  return g_test_run ();
}
