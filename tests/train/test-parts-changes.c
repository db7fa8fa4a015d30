/* Parts that change the course of a run, each constructed without the trainer: its batch size, and the rounds of a
 * parameter server. */
#include "engine/core/loom-error.h"
#include "engine/train/batch-size.h"
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

/* After a change the epoch goes on at the sample where it was. */
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

/* Three rounds: of four steps; of fewer, because rank 0 has a checkpoint to write; and of fewer, because a worker is
 * told to stop. */
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
  g_test_add_func ("/parts-changes/rounds", test_rounds);
  g_test_add_func ("/parts-changes/rounds-refused", test_rounds_refused);
  return g_test_run ();
}
