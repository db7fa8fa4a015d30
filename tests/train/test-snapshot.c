/* Snapshots of several ports: one plan for all requested ports, with the values that each would have alone. */
#include "engine/loom-lab.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <math.h>
#include <string.h>

static const char *const GRAPH = TRAIN_TEST_SPIRALS (
    "", "16") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"96\" epochs=\"2\" seed=\"3\"/></graph>";

static const char *const ports[]
    = { "act", "scores", "grad:hidden.weight", "loss", "data.x", "grad:scores.bias", "grad:act", "grad:scores" };

static LoomTensor *
look (LoomTrainer *trainer, const char *port)
{
  g_autoptr (GError) error = NULL;
  LoomTensor *value = loom_trainer_snapshot (trainer, port, NULL, &error);

  g_assert_no_error (error);
  return value;
}

static void
assert_near (const char *port, const LoomTensor *a, const LoomTensor *b)
{
  g_assert_cmpint (a->count, ==, b->count);
  g_assert_cmpint (a->count, >, 0);
  for (gint64 k = 0; k < a->count; k++)
    if (!(fabs (loom_tensor_get (a, k) - loom_tensor_get (b, k)) <= 1e-6 * (1 + fabs (loom_tensor_get (a, k)))))
      g_error ("%s[%d] is %g alone and %g with others", port, (int)k, loom_tensor_get (a, k), loom_tensor_get (b, k));
}

/* A port inside the graph has a gradient as a weight has: the gradient of the scores, summed over the samples, equals
 * the gradient of their bias. */
static void
test_gradient_of_port (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTensor) scores = look (trainer, "grad:scores"), bias = look (trainer, "grad:scores.bias");
  double sum[2] = { 0 };

  g_assert_cmpint (scores->rank, ==, 2);
  for (gint64 k = 0; k < scores->count; k++)
    sum[k % 2] += loom_tensor_get (scores, k);
  for (int k = 0; k < 2; k++)
    g_assert_cmpfloat_with_epsilon (sum[k], loom_tensor_get (bias, k), 1e-6);
  g_assert_cmpfloat (fabs (sum[0]), >, 1e-6);
}

/* Requested in turn, often, with an invalid port, and from a trainer without other requests. */
static void
test_several (void)
{
  g_autoptr (LoomTrainer) all = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });

  for (guint round = 0; round < 100; round++)
    for (guint i = 0; i < G_N_ELEMENTS (ports); i++)
      {
        g_autoptr (LoomTensor) together = NULL, value = NULL;
        g_autoptr (LoomTrainer) alone = NULL;
        g_autoptr (GError) error = NULL;

        if (round > 1 && i > 0)
          continue; /* the others become stale, and are requested again below */
        together = look (all, ports[i]);
        if (round > 1)
          continue;
        alone = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
        value = look (alone, ports[i]);
        assert_near (ports[i], value, together);
        g_assert_null (loom_trainer_snapshot (all, "nothing", NULL, &error));
        g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
      }
  for (guint i = 0; i < G_N_ELEMENTS (ports); i++)
    {
      g_autoptr (LoomTensor) together = look (all, ports[i]), value = NULL;
      g_autoptr (LoomTrainer) alone = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });

      value = look (alone, ports[i]);
      assert_near (ports[i], value, together);
    }
}

/* As many samples as the values of a port have. */
static void
test_samples (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTensor) samples = look (trainer, LOOM_SNAPSHOT_SAMPLES), scores = look (trainer, "scores");

  g_assert_cmpint (samples->count, ==, 1);
  g_assert_cmpfloat (loom_tensor_get (samples, 0), ==, scores->dim[0]);
}

/* A view sees the current weights, even if the plan has run before. */
static void
test_fresh (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTensor) before = look (trainer, "scores"), after = NULL, expected = NULL;
  g_autoptr (LoomTensor) weight = loom_state_get (loom_trainer_state (trainer), "scores.bias", NULL);
  gint64 step = -1;

  g_assert_nonnull (weight);
  loom_tensor_set (weight, 0, loom_tensor_get (weight, 0) + 1);
  g_assert_true (loom_state_set (loom_trainer_state (trainer), "scores.bias", weight, NULL));
  after = loom_trainer_snapshot (trainer, "scores", &step, NULL);
  g_assert_cmpint (step, ==, 0);
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (after, 0), loom_tensor_get (before, 0) + 1, 1e-5);
  /* Snapshots that were handed out before stay as they were. */
  expected = look (trainer, "scores");
  g_assert_true (loom_tensor_equal_bits (after, expected));
  g_assert_cmpfloat (loom_tensor_get (before, 0), !=, loom_tensor_get (after, 0));
}

/* Each node has its part, also of the backward pass; nothing is committed, and ports are as they were. */
static void
test_times (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTensor) before = look (trainer, "scores"), times = look (trainer, LOOM_SNAPSHOT_TIMES);
  g_autoptr (LoomTensor) after = look (trainer, "scores");
  const LoomNet *net = loom_trainer_net (trainer);
  double all = 0;

  g_assert_cmpint (times->count, ==, loom_net_n_nodes (net));
  for (gint64 i = 0; i < times->count; i++)
    {
      g_assert_true (loom_tensor_get (times, i) >= 0 && loom_tensor_get (times, i) < 60);
      all += loom_tensor_get (times, i);
    }
  g_assert_cmpfloat (all, >, 0);
  /* A data set computes nothing; a loss and a layer do. */
  g_assert_cmpfloat (loom_tensor_get (times, loom_net_find (net, "data")), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (times, loom_net_find (net, "hidden")), >, 0);
  g_assert_cmpfloat (loom_tensor_get (times, loom_net_find (net, "loss")), >, 0);
  g_assert_true (loom_tensor_equal_bits (before, after));
}

/* ---- updates, watched from another thread ----------------------------------------------- */

typedef struct
{
  LoomTrainer *trainer;
  int stop;
  guint n; /* updates that came */
  gint64 step;
} Watcher;

static void
memory_cb (LoomTrainer *trainer, gpointer data)
{
}

static gpointer
watch (gpointer data)
{
  static const char *const watched[] = { "update:hidden.weight", "grad:hidden.weight", "grad:act", "act" };
  Watcher *w = data;

  while (!g_atomic_int_get (&w->stop))
    for (guint i = 0; i < G_N_ELEMENTS (watched); i++)
      {
        g_autoptr (GError) error = NULL;
        gint64 step = -1;
        g_autoptr (LoomTensor) value = loom_trainer_snapshot (w->trainer, watched[i], &step, &error);

        /* Before the first step there is no update. */
        if (value == NULL)
          {
            g_assert_cmpuint (i, ==, 0);
            continue;
          }
        if (i == 0)
          {
            g_assert_cmpint (step, >=, w->step);
            w->step = step;
            w->n++;
          }
      }
  return NULL;
}

static LoomTensor *
train_watched (gboolean is_watched, guint *n)
{
  static const LoomTrainerObserver observer = { .memory = memory_cb };
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  Watcher w = { .trainer = trainer };
  GThread *thread = NULL;

  loom_trainer_set_observer (trainer, &observer, NULL);
  if (is_watched)
    thread = g_thread_new ("watch", watch, &w);
  train_test_run (trainer);
  g_atomic_int_set (&w.stop, 1);
  if (thread != NULL)
    g_thread_join (thread);
  *n = w.n;
  return loom_state_get (loom_trainer_state (trainer), "hidden.weight", NULL);
}

/* Watched or not, a run has the same bits. A run may end before the other thread has begun to ask; then it is repeated.
 */
static void
test_watched (void)
{
  guint none, some = 0;
  g_autoptr (LoomTensor) alone = train_watched (FALSE, &none);

  for (guint run = 0; some == 0 && run < 1000; run++)
    {
      g_autoptr (LoomTensor) watched = train_watched (TRUE, &some);

      g_assert_true (loom_tensor_equal_bits (alone, watched));
    }
  g_assert_cmpuint (none, ==, 0);
  g_assert_cmpuint (some, >, 0);
}

/* The update of a run's last step is the difference to the weights of a run that is one step shorter, bit by bit. */
static void
test_update (void)
{
  static const LoomTrainerObserver observer = { .memory = memory_cb };
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ .steps = 3 });
  g_autoptr (LoomTrainer) shorter = train_test_new (GRAPH, (LoomTrainerOptions){ .steps = 2 });
  g_autoptr (GError) error = NULL;
  gint64 step = -1;

  g_assert_null (loom_trainer_snapshot (trainer, "update:hidden.weight", NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PORT);
  g_clear_error (&error);
  loom_trainer_set_observer (trainer, &observer, NULL);
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
  g_assert_cmpint (loom_trainer_run (shorter, &error), ==, LOOM_TRAINER_STOPPED);
  g_assert_null (loom_trainer_snapshot (trainer, "update:act", NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PORT);
  g_autoptr (LoomTensor) update = loom_trainer_snapshot (trainer, "update:hidden.weight", &step, NULL);
  g_autoptr (LoomTensor) after = loom_state_get (loom_trainer_state (trainer), "hidden.weight", NULL);
  g_autoptr (LoomTensor) before = loom_state_get (loom_trainer_state (shorter), "hidden.weight", NULL);
  g_assert_cmpint (step, ==, 2);
  for (gint64 i = 0; i < update->count; i++)
    g_assert_cmpfloat (((const float *)update->data)[i], ==,
                       ((const float *)after->data)[i] - ((const float *)before->data)[i]);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/snapshot/update", test_update);
  g_test_add_func ("/snapshot/watched", test_watched);
  g_test_add_func ("/snapshot/gradient-of-port", test_gradient_of_port);
  g_test_add_func ("/snapshot/several", test_several);
  g_test_add_func ("/snapshot/times", test_times);
  g_test_add_func ("/snapshot/fresh", test_fresh);
  g_test_add_func ("/snapshot/samples", test_samples);
  return g_test_run ();
}
