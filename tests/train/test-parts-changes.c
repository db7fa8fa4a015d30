/* Parts that change a run, each constructed without the trainer: its batch size, the way back to an
 * earlier step, and the rounds of a parameter server. */
#include "engine/core/loom-error.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/time-machine.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/part-bench.h"

#include <math.h>

/* ---- the batch size ------------------------------------------------------ */

static void
refuse (BatchSize *size, double value, int code, const char *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (batch_size_change (size, value, &error));
  g_assert_error (error, LOOM_ERROR, code);
  g_assert_nonnull (strstr (error->message, words));
}

static BatchSize
batch_size_of (Bench *b)
{
  return (BatchSize){ &b->base.model, &b->base.data,     &b->base.group, &b->base.plans,
                      &b->batches,    &b->base.progress, &b->base.ranks };
}

/* After a change the epoch continues at the sample where it was. */
static void
test_size (void)
{
  g_autoptr (GError) error = NULL;
  gint64 sample[16];
  Bench b, unchanged;
  BatchSize size;

  bench_init (&unchanged, NET (""), NULL);
  bench_steps (&unchanged, 2);
  memcpy (sample, batch_queue_peek (&unchanged.batches, 0, 2, NULL)->samples, sizeof sample);
  bench_clear (&unchanged);

  bench_init (&b, NET (""), NULL);
  size = batch_size_of (&b);
  bench_steps (&b, 2);
  g_assert_cmpint (batch_size_now (&size), ==, 16);
  g_assert_true (batch_size_change (&size, 8, &error));
  g_assert_no_error (error);
  g_assert_cmpint (batch_size_now (&size), ==, 8);
  g_assert_cmpint (b.base.data.steps_per_epoch, ==, 2 + (96 - 32) / 8);
  g_assert_cmpint (b.base.progress.division.sample, ==, 32);
  const LoomBatch *batch = batch_queue_peek (&b.batches, 0, 2, NULL);
  g_assert_cmpint (batch->n, ==, 8);
  g_assert_cmpmem (batch->samples, 8 * sizeof (gint64), sample, 8 * sizeof (gint64));
  while (b.base.progress.batch < b.base.data.steps_per_epoch)
    g_assert_true (training_loop_step (&b.loop, NULL) && training_loop_finish (&b.loop, NULL));
  g_assert_cmpfloat (b.base.progress.sample_sum, ==, 96);

  /* The next epoch has one size from its first sample. */
  train_progress_end_epoch (&b.base.progress);
  train_progress_begin_epoch (&b.base.progress);
  g_assert_true (batch_size_begin_epoch (&size, &error));
  g_assert_cmpint (b.base.data.steps_per_epoch, ==, 12);
  g_assert_cmpint (batch_queue_peek (&b.batches, 1, 0, NULL)->n, ==, 8);
  bench_clear (&b);
}

/* If a size is refused, or the step of that size cannot be taken, nothing has changed. */
static void
test_size_refused (void)
{
  Bench b;
  BatchSize size;

  bench_init (&b, NET ("drop_last=\"false\""), NULL);
  size = batch_size_of (&b);
  bench_steps (&b, 2);
  refuse (&size, 97, LOOM_ERROR_USAGE, "from 1 to 96");
  refuse (&size, 0, LOOM_ERROR_USAGE, "not 0");
  refuse (&size, 2.5, LOOM_ERROR_USAGE, "whole number");
  refuse (&size, NAN, LOOM_ERROR_USAGE, "whole number");
  /* 64 samples in batches of 9 leave one, as if a norm read it. */
  b.base.data.refuses_lone = 1;
  refuse (&size, 9, LOOM_ERROR_SHAPE, "");
  b.base.group.has_server = TRUE;
  refuse (&size, 8, LOOM_ERROR_USAGE, "server");
  b.base.group.has_server = FALSE;
  b.base.ranks = 2;
  refuse (&size, 49, LOOM_ERROR_USAGE, "48, the number of training samples of a rank");
  b.base.ranks = 1;
  g_assert_cmpint (batch_size_now (&size), ==, 16);
  g_assert_cmpint (b.base.data.steps_per_epoch, ==, 6);
  g_assert_cmpint (batch_queue_peek (&b.batches, 0, 2, NULL)->n, ==, 16);
  bench_clear (&b);
}

/* ---- an earlier step ------------------------------------------------------- */

#define WALK 5

/* A bench with a time machine. */
typedef struct
{
  Bench bench;
  BatchSize size;
  WatchedState watched;
  TimeMachine machine;
} Traveller;

static void
traveller_init (Traveller *t)
{
  Bench *b = &t->bench;
  Base *base = &b->base;

  bench_init (b, NET (""), NULL);
  t->size = batch_size_of (b);
  watched_state_init (&t->watched, &base->model, &base->group, &base->progress);
  t->machine = (TimeMachine){
    .model = &base->model,
    .data = &base->data,
    .group = &base->group,
    .progress = &base->progress,
    .rates = &base->rates,
    .batch_size = &t->size,
    .loop = &b->loop,
    .log = &b->log,
    .folder = &b->folder,
    .checkpoints = &b->checkpoints,
    .evaluation = &b->evaluation,
    .epoch_end = &b->end,
    .watched = &t->watched,
    .disk = { .run = b->checkpoints.run,
              .folder = &b->folder,
              .group = &base->group,
              .notes = &base->notes,
              .history = { .budget = 1 << 20 } },
  };
  folder_history_init (&t->machine.disk);
  moments_init (&t->machine.moments, &t->machine.disk.run, MOMENTS_BUDGET);
}

static void
traveller_clear (Traveller *t)
{
  time_machine_clear (&t->machine);
  watched_state_clear (&t->watched);
  bench_clear (&t->bench);
}

static LoomTensor *
weight_of (Traveller *t)
{
  return loom_state_get (t->bench.base.model.state, "hidden.weight", NULL);
}

static void
change_rate (Traveller *t, double value)
{
  LoomJson *event = run_event_new ("hyper");

  loom_json_int (event, "step", t->bench.base.progress.step);
  loom_json_string (event, "name", "lr");
  loom_json_exact (event, "value", value);
  loom_json_exact (event, "before", t->bench.base.progress.base_lr);
  g_assert_true (run_folder_add_event (&t->bench.folder, event, NULL));
  g_assert_true (learning_rates_change (&t->bench.base.rates, &t->bench.base.progress, "lr", value));
}

/* Takes a step; half of the learning rate after the second. */
static void
take_step (Traveller *t)
{
  g_assert_true (training_loop_step (&t->bench.loop, NULL) && training_loop_finish (&t->bench.loop, NULL));
  if (time_machine_wants (&t->machine, t->bench.base.progress.step))
    time_machine_keep (&t->machine);
  if (t->bench.base.progress.step == 2)
    change_rate (t, 0.01);
}

/* Any step is computed again with the values that it had, silently; the newest one is what it was, and training
 * continues from it. */
static void
test_travel (void)
{
  static const gint64 to[] = { 2, 4, 1, 3, 0 };
  g_autofree char *top = NULL, *events = NULL, *before = NULL, *after = NULL;
  g_autoptr (GError) error = NULL;
  LoomTensor *weight[WALK + 1];
  Traveller t;
  Bench *b = &t.bench;

  traveller_init (&t);
  top = bench_create_folder (b);
  events = g_build_filename (b->folder.path, LOOM_RUN_EVENTS, NULL);
  bench_steps (b, 0);
  time_machine_begin_run (&t.machine);
  weight[0] = weight_of (&t);
  for (int i = 1; i <= WALK; i++)
    {
      take_step (&t);
      weight[i] = weight_of (&t);
    }
  g_assert_true (run_folder_flush (&b->folder, NULL));
  g_assert_true (g_file_get_contents (events, &before, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (to); i++)
    {
      g_autoptr (LoomTensor) now = NULL;

      g_assert_true (time_machine_leave (&t.machine, to[i], &error));
      g_assert_no_error (error);
      g_assert_true (t.machine.is_away);
      g_assert_cmpint (b->base.progress.step, ==, to[i]);
      now = weight_of (&t);
      g_assert_true (loom_tensor_equal_bits (now, weight[to[i]]));
    }
  g_assert_true (time_machine_return (&t.machine, &error));
  g_assert_no_error (error);
  g_assert_false (t.machine.is_away);
  g_autoptr (LoomTensor) back = weight_of (&t);
  g_assert_true (loom_tensor_equal_bits (back, weight[WALK]));
  g_assert_true (run_folder_flush (&b->folder, NULL));
  g_assert_true (g_file_get_contents (events, &after, NULL, NULL));
  g_assert_cmpstr (before, ==, after);
  g_assert_cmpint (b->n, ==, WALK); /* reported steps */
  take_step (&t);
  g_assert_cmpint (b->n, ==, WALK + 1);
  for (int i = 0; i <= WALK; i++)
    loom_tensor_unref (weight[i]);
  traveller_clear (&t);
  remove_tree (top);
}

/* A run without a folder, and one of several ranks, cannot go back; nor is there a step that was not taken. */
static void
test_travel_refused (void)
{
  g_autofree char *top = NULL;
  g_autoptr (GError) error = NULL;
  LoomComm none = { .size = 2 };
  Traveller t;

  traveller_init (&t);
  bench_steps (&t.bench, 2);
  g_assert_false (time_machine_leave (&t.machine, 1, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "not saved"));
  g_clear_error (&error);
  top = bench_create_folder (&t.bench);
  g_assert_false (time_machine_leave (&t.machine, 3, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "from 0 to 2"));
  g_clear_error (&error);
  t.bench.base.group.comm = &none;
  g_assert_false (time_machine_leave (&t.machine, 1, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "Several ranks"));
  t.bench.base.group.comm = NULL;
  g_assert_false (t.machine.is_away);
  traveller_clear (&t);
  remove_tree (top);
}

/* ---- rounds of a server -------------------------------------------------- */

#define RANKS  3
#define SERVED NET_SERVED ("server")
/* Two workers, each with half of a batch of 8: twelve steps in an epoch. */
#define NET_SERVED(STRATEGY)                                                                                           \
  TRAIN_TEST_SPIRALS ("n=\"96\" n_test=\"8\"", "4")                                                                    \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.02\" batch_size=\"4\" epochs=\"2\" seed=\"5\" device=\"cpu\">"        \
  "<parallel strategy=\"" STRATEGY "\" staleness=\"0\"/></train></graph>"

typedef struct
{
  Bench bench;
  Inbox inbox;
  ServerRounds rounds;
} Rank;

static const InboxOwner no_owner;

static void
rank_init (Rank *r, LoomComm *comm)
{
  bench_init (&r->bench, SERVED, comm);
  inbox_init (&r->inbox, &no_owner);
  rank_reports_init (&r->bench.reports);
  r->rounds = (ServerRounds){ .server = r->bench.base.server,
                              .data = &r->bench.base.data,
                              .plans = &r->bench.base.plans,
                              .rates = &r->bench.base.rates,
                              .log = &r->bench.log,
                              .failure = &r->bench.failure,
                              .progress = &r->bench.base.progress,
                              .checkpoints = &r->bench.checkpoints,
                              .inbox = &r->inbox,
                              .reports = &r->bench.reports };
  train_progress_begin_epoch (&r->bench.base.progress);
  loom_loader_start (r->bench.base.data.loader, 0, 0);
  g_assert_true (rank_group_join (&r->bench.base.group, NULL));
}

static void
rank_clear (Rank *r)
{
  rank_reports_clear (&r->bench.reports);
  inbox_clear (&r->inbox);
  bench_clear (&r->bench);
}

typedef struct
{
  LoomComm *comm;
  gint64 step[3]; /* after each round */
  double loss[PART_BENCH_STEPS];
  LoomTensor *weight;
} Served;

/* Three rounds: of four steps; of fewer, because rank 0 has a checkpoint to write; and of fewer, because a worker has
 * to stop. */
static gpointer
serve (gpointer data)
{
  Served *s = data;
  const int rank = s->comm->rank;
  g_autofree char *top = NULL;
  g_autoptr (GError) error = NULL;
  Rank r;

  rank_init (&r, s->comm);
  if (rank == 0)
    top = bench_create_folder (&r.bench);
  g_assert_true (server_rounds_take (&r.rounds, 4, &error));
  g_assert_no_error (error);
  s->step[0] = r.bench.base.progress.step;
  r.bench.checkpoints.is_due = rank == 0;
  g_assert_true (server_rounds_take (&r.rounds, 100, &error));
  g_assert_no_error (error);
  s->step[1] = r.bench.base.progress.step;
  g_assert_cmpint (s->step[1], <, 12);
  g_assert_false (r.bench.checkpoints.is_due);
  g_assert_cmpint (r.bench.checkpoints.saved_step, ==, rank == 0 ? s->step[1] : 0);
  inbox_begin (&r.inbox);
  if (rank == 1)
    inbox_post (&r.inbox, LOOM_COMMAND_STOP, NULL, 0);
  g_assert_true (server_rounds_take (&r.rounds, 100, &error));
  g_assert_no_error (error);
  s->step[2] = r.bench.base.progress.step;
  inbox_end (&r.inbox);
  memcpy (s->loss, r.bench.loss, sizeof s->loss);
  s->weight = loom_state_get (r.bench.base.model.state, "hidden.weight", NULL);
  if (top != NULL)
    remove_tree (top);
  rank_clear (&r);
  return NULL;
}

static void
test_rounds (void)
{
  LoomComm *comm[RANKS];
  GThread *thread[RANKS];
  Served rank[RANKS] = { 0 };
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (RANKS, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < RANKS; k++)
    {
      rank[k].comm = comm[k];
      thread[k] = g_thread_new ("rank", serve, &rank[k]);
    }
  for (int k = 0; k < RANKS; k++)
    g_thread_join (thread[k]);
  g_assert_cmpint (rank[0].step[0], ==, 4);
  g_assert_cmpint (rank[0].step[1], >, 4);
  g_assert_cmpint (rank[0].step[2], >, rank[0].step[1]);
  g_assert_cmpint (rank[0].step[2], <, 12);
  for (int k = 0; k < RANKS; k++)
    {
      g_assert_cmpmem (rank[k].step, sizeof rank[k].step, rank[0].step, sizeof rank[0].step);
      g_assert_true (loom_tensor_equal_bits (rank[k].weight, rank[0].weight));
      g_assert_cmpfloat (rank[k].loss[0] > 0, ==, k == 0); /* only the server reports */
    }
  for (int k = 0; k < RANKS; k++)
    {
      loom_tensor_unref (rank[k].weight);
      comm[k]->free (comm[k]);
    }
}

/* One rank alone cannot serve, and a step that all ranks take together cannot be recorded. */
static void
test_rounds_refused (void)
{
  g_autoptr (GError) error = NULL;
  StepTrace trace = { .path = g_strdup ("trace.json") };
  LoomComm *comm[RANKS];
  LoomMessage message;
  RankGroup group = { .has_server = TRUE };
  Base b;

  base_init (&b, NET (""));
  g_assert_cmpint (loom_comm_threads_new (1, comm, &message), ==, LOOM_STATUS_OK);
  group.comm = comm[0];
  g_assert_null (server_rounds_open (&b.model, &group, &trace, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "two or more"));
  g_clear_error (&error);
  comm[0]->free (comm[0]);
  g_assert_cmpint (loom_comm_threads_new (RANKS, comm, &message), ==, LOOM_STATUS_OK);
  group.comm = comm[0];
  g_assert_null (server_rounds_open (&b.model, &group, &trace, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "--trace"));
  g_clear_error (&error);
  trace.is_optional = TRUE;
  RankServer *server = server_rounds_open (&b.model, &group, &trace, &error);
  g_assert_no_error (error);
  g_assert_null (trace.path);
  rank_server_free (server);
  for (int k = 0; k < RANKS; k++)
    comm[k]->free (comm[k]);
  base_clear (&b);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parts-changes/size", test_size);
  g_test_add_func ("/parts-changes/size-refused", test_size_refused);
  g_test_add_func ("/parts-changes/travel", test_travel);
  g_test_add_func ("/parts-changes/travel-refused", test_travel_refused);
  g_test_add_func ("/parts-changes/rounds", test_rounds);
  g_test_add_func ("/parts-changes/rounds-refused", test_rounds_refused);
  return g_test_run ();
}
