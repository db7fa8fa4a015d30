/* The parts of a run, each constructed without the trainer. */
#include "engine/infer/loom-run-files.h"
#include "engine/run/run-private.h"
#include "engine/train/agreement.h"
#include "engine/train/inbox.h"
#include "engine/train/run-control.h"
#include "engine/train/run-failure.h"
#include "engine/train/run-fingerprint.h"
#include "engine/train/run-observer.h"
#include "engine/train/walk-requests.h"
#include "engine/train/watched-state.h"
#include "tests/test-program.h"
#include "tests/scratch.h"
#include "tests/train/part-bench.h"

#include <math.h>

/* ---- the loop ---------------------------------------------------------- */

typedef struct
{
  double loss[PART_BENCH_STEPS];
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
  bench_init (&b, xml, NULL);
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

  bench_init (&b, NET (""), NULL);
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

      bench_init (&b, rows[i].xml, NULL);
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
  g_autofree char *top = NULL, *events = NULL, *text = NULL;
  g_autoptr (GString) shown = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  TrainAction action;
  Bench b;

  bench_init (&b, NET (""), NULL);
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
  top = bench_create_folder (&b);
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
  events = g_build_filename (b.folder.path, LOOM_RUN_EVENTS, NULL);
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "{\"event\":\"hyper\",\"step\":2,\"name\":\"lr\",\"value\":0.5,\"before\":"));
  run_control_clear (&control);
  train_observers_clear (&observers);
  bench_clear (&b);
  remove_tree (top);
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

  bench_init (&b, NET (""), NULL);
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

  bench_init (&b, NET (""), NULL);
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

  bench_init (&b, NET (""), NULL);
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

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/parts/loop", NET (""), test_loop);
  g_test_add_data_func ("/parts/loop-accumulated", NET ("accumulate=\"2\""), test_loop);
  g_test_add_func ("/parts/failure", test_failure);
  g_test_add_func ("/parts/half-batch", test_half_batch);
  g_test_add_func ("/parts/plans", test_plans);
  g_test_add_func ("/parts/control", test_control);
  g_test_add_func ("/parts/inbox", test_inbox);
  g_test_add_func ("/parts/watched", test_watched);
  g_test_add_func ("/parts/trace", test_trace);
  g_test_add_func ("/parts/ranks", test_ranks);
  g_test_add_func ("/parts/walk-requests", test_walk_requests);
  g_test_add_func ("/parts/fingerprint", test_fingerprint);
  g_test_add_func ("/parts/observer", test_observer);
  return g_test_run ();
}
