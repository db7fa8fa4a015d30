/* A parameter server and its workers, as threads: with staleness 0 the bits of synchronous training; with more, no rank
 * is further ahead than allowed, every push reports its staleness, and a run resumes from where it ended. */
#include "engine/loom-lab.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const LoomGraph *graph;
  LoomTrainerOptions options;
  GArray *loss; /* double, by step; of rank 0 */
  gint64 stop_at;
  gboolean requests; /* the rank requests a value after each step, so that all ranks stop there */
  LoomStaleness staleness;
  LoomTensor *weight;
  GError *error;
} Rank;

static void
take_step (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Rank *rank = data;

  g_array_append_val (rank->loss, step->loss);
  if (step->step == rank->stop_at)
    loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
  if (rank->requests)
    loom_trainer_post (trainer, LOOM_COMMAND_RESUME, NULL, 0);
}

static gpointer
run_rank (gpointer data)
{
  Rank *rank = data;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (rank->graph, &rank->options, &rank->error);

  if (trainer == NULL)
    return NULL;
  if (rank->options.comm->rank == 0)
    loom_trainer_set_observer (trainer, &(LoomTrainerObserver){ .step = take_step }, rank);
  loom_trainer_run (trainer, &rank->error);
  rank->staleness = loom_trainer_staleness (trainer);
  rank->weight = loom_state_get (loom_trainer_state (trainer), "fc.weight", NULL);
  return NULL;
}

static LoomGraph *
read_graph (int n, const char *parallel)
{
  g_autofree char *text = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"served\">\n"
      "<node id=\"data\" op=\"dataset\" source=\"linear\" n=\"%d\" n_test=\"9\" n_features=\"3\"/>\n"
      "<node id=\"norm\" op=\"batch_norm1d\"/>\n<node id=\"fc\" op=\"linear\" out_features=\"1\"/>\n"
      "<node id=\"loss\" op=\"mse_loss\"/>\n<wire from=\"data.x\" to=\"norm\"/>\n<wire from=\"norm\" to=\"fc\"/>\n"
      "<wire from=\"fc\" to=\"loss.input\"/>\n<wire from=\"data.y\" to=\"loss.target\"/>\n"
      "<train loss=\"loss\" optimizer=\"sgd\" momentum=\"0.5\" lr=\"0.02\" batch_size=\"4\" epochs=\"3\" seed=\"1\" "
      "device=\"ref\" precision=\"f64\">\n"
      "<metric type=\"mse\" input=\"fc\" target=\"data.y\"/>\n<parallel %s/>\n</train>\n</graph>\n",
      n, parallel);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (text, strlen (text), "served", faults, &error);

  g_assert_no_error (error);
  return graph;
}

/* Runs all ranks; returns rank 0, and checks that the others' weights are the same. */
static Rank
run_requesting (gboolean requests, int n, const char *parallel, int ranks, const LoomTrainerOptions *options,
                gint64 stop_at)
{
  g_autoptr (LoomGraph) graph = read_graph (n, parallel);
  LoomComm *comm[8];
  Rank rank[8] = { 0 };
  GThread *thread[8];
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (ranks, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < ranks; k++)
    {
      rank[k] = (Rank){ .graph = graph, .options = *options, .stop_at = stop_at, .requests = requests };
      rank[k].loss = g_array_new (FALSE, FALSE, sizeof (double));
      rank[k].options.comm = comm[k];
      thread[k] = g_thread_new ("rank", run_rank, &rank[k]);
    }
  for (int k = 0; k < ranks; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < ranks; k++)
    {
      comm[k]->free (comm[k]);
      if (k == 0)
        continue;
      g_assert_true (rank[0].error != NULL ? rank[k].error != NULL : rank[k].error == NULL);
      if (rank[0].weight != NULL)
        g_assert_true (loom_tensor_equal_bits (rank[k].weight, rank[0].weight));
      g_clear_pointer (&rank[k].weight, loom_tensor_unref);
      g_array_unref (rank[k].loss);
      g_clear_error (&rank[k].error);
    }
  return rank[0];
}

static Rank
run (int n, const char *parallel, int ranks, const LoomTrainerOptions *options, gint64 stop_at)
{
  return run_requesting (FALSE, n, parallel, ranks, options, stop_at);
}

static void
rank_clear (Rank *rank)
{
  g_clear_pointer (&rank->weight, loom_tensor_unref);
  g_array_unref (rank->loss);
  g_clear_error (&rank->error);
}

static LoomTrainerOptions
plain (void)
{
  return (LoomTrainerOptions){ .lr = NAN, .seed = -1, .threads = 1 };
}

/* Three ranks, with a last batch of 2 samples, fewer than ranks; a batch norm's statistics are the mean of theirs.
 * Requests at which ranks stop do not affect the result. */
static void
test_synchronous (gconstpointer requests)
{
  const LoomTrainerOptions options = plain ();
  Rank served = run_requesting (requests != NULL, 50, "strategy=\"server\"", 4, &options, -1);
  Rank data = run (50, "strategy=\"data\"", 3, &options, -1);

  g_assert_no_error (served.error);
  g_assert_cmpuint (served.loss->len, ==, 15);
  g_assert_cmpuint (served.loss->len, ==, data.loss->len);
  for (guint i = 0; i < data.loss->len; i++)
    g_assert_cmpfloat (fabs (g_array_index (served.loss, double, i) - g_array_index (data.loss, double, i)), <, 1e-10);
  for (gint64 i = 0; i < data.weight->count; i++)
    g_assert_cmpfloat (fabs (loom_tensor_get (served.weight, i) - loom_tensor_get (data.weight, i)), <, 1e-10);
  g_assert_cmpint (served.staleness.pushes, ==, 45);
  g_assert_cmpint (served.staleness.most, ==, 0);
  g_assert_cmpint (data.staleness.pushes, ==, 0);
  rank_clear (&served);
  rank_clear (&data);
}

/* A rank that is K steps ahead waits: between reading weights and applying their gradients there are at most 2 K + 1
 * pushes of each other rank. */
static void
test_bounded (void)
{
  g_autofree char *folder = g_dir_make_tmp ("server-XXXXXX", NULL), *out = g_build_filename (folder, "run", NULL);
  g_autofree char *events = g_build_filename (out, "events.jsonl", NULL), *text = NULL;
  LoomTrainerOptions options = plain ();
  guint pushes = 0;
  gint64 sum = 0;
  Rank served;

  options.out = out;
  served = run (54, "strategy=\"server\" staleness=\"1\"", 3, &options, -1);
  g_assert_no_error (served.error);
  g_assert_cmpint (served.staleness.pushes, ==, 2 * (gint64)served.loss->len);
  g_assert_cmpint (served.staleness.most, <=, 3);
  g_assert_cmpfloat (g_array_index (served.loss, double, served.loss->len - 1), <,
                     g_array_index (served.loss, double, 0));
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  for (const char *at = text; (at = strstr (at, "{\"event\":\"push\"")) != NULL; at++, pushes++)
    sum += g_ascii_strtoll (strstr (at, "\"staleness\":") + strlen ("\"staleness\":"), NULL, 10);
  g_assert_cmpint (pushes, ==, served.staleness.pushes);
  g_assert_cmpint (sum, ==, served.staleness.sum);
  rank_clear (&served);
  remove_tree (folder);
}

/* Ended in the middle of an epoch, with all ranks at one step; resumed with other ranks, and another strategy. */
static void
test_ended (void)
{
  g_autofree char *folder = g_dir_make_tmp ("server-XXXXXX", NULL), *out = g_build_filename (folder, "run", NULL);
  LoomTrainerOptions options = plain ();
  Rank served;

  options.out = out;
  served = run (54, "strategy=\"server\" staleness=\"2\"", 4, &options, 7);
  g_assert_no_error (served.error);
  g_assert_cmpuint (served.loss->len, >=, 7);
  g_assert_cmpuint (served.loss->len, <, 15);
  options.out = NULL;
  options.resume = out;
  guint left = 15 - served.loss->len;
  rank_clear (&served);
  served = run (54, "strategy=\"server\"", 3, &options, -1);
  g_assert_no_error (served.error);
  g_assert_cmpuint (served.loss->len, ==, left);
  rank_clear (&served);
  remove_tree (folder);
}

/* A run resumes with another strategy: state of a server is dropped, or begins again. Synchronous steps are the same
 * with either. */
static void
test_changed (gconstpointer to_server)
{
  static const char *const served = "strategy=\"server\"", *const data = "strategy=\"data\"";
  g_autofree char *folder = g_dir_make_tmp ("server-XXXXXX", NULL), *out = g_build_filename (folder, "run", NULL);
  LoomTrainerOptions options = plain ();
  Rank whole = run (54, data, 3, &options, -1), part;
  const gboolean serves = to_server != NULL;

  options.out = out;
  part = run (54, serves ? data : served, serves ? 3 : 4, &options, 7);
  g_assert_no_error (part.error);
  guint begun = part.loss->len; /* a server's ranks may be a step further */
  g_assert_cmpuint (begun, >=, 7);
  rank_clear (&part);
  options.out = NULL;
  options.resume = out;
  options.strategy = serves ? "server" : "zero2";
  part = run (54, data, serves ? 4 : 3, &options, -1);
  g_assert_no_error (part.error);
  g_assert_cmpuint (part.loss->len, ==, whole.loss->len - begun);
  for (gint64 i = 0; i < whole.weight->count; i++)
    g_assert_cmpfloat (fabs (loom_tensor_get (part.weight, i) - loom_tensor_get (whole.weight, i)), <, 1e-10);
  rank_clear (&part);
  rank_clear (&whole);
  /* A file that has staleness is trained with another strategy. */
  options = plain ();
  options.strategy = "zero1";
  part = run (54, "strategy=\"server\" staleness=\"8\"", 2, &options, -1);
  g_assert_no_error (part.error);
  rank_clear (&part);
  remove_tree (folder);
}

/* Rank 0 reports the failure of another rank, with its number. */
static void
test_failure (void)
{
  LoomTrainerOptions options = plain ();
  Rank served, alone;

  options.lr = 1e6;
  options.epochs = 20;
  served = run (54, "strategy=\"server\" staleness=\"3\"", 3, &options, -1);
  g_assert_error (served.error, LOOM_ERROR, LOOM_ERROR_NAN);
  rank_clear (&served);
  options.lr = NAN;
  alone = run (54, "strategy=\"server\"", 1, &options, -1);
  g_assert_error (alone.error, LOOM_ERROR, LOOM_ERROR_USAGE);
  rank_clear (&alone);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/server/synchronous", NULL, test_synchronous);
  g_test_add_data_func ("/server/synchronous/asked", "asked", test_synchronous);
  g_test_add_func ("/server/bounded", test_bounded);
  g_test_add_func ("/server/ended", test_ended);
  g_test_add_data_func ("/server/changed/from", NULL, test_changed);
  g_test_add_data_func ("/server/changed/to", "to", test_changed);
  g_test_add_func ("/server/failure", test_failure);
  return g_test_run ();
}
