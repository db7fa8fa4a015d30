/* The worker as Studio meets it: it loads a graph, trains, stops, waits and travels. Each test has its own worker. */
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

static void
test_whole_run (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 0, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  g_assert_nonnull (strstr (f->states->str, "preparing running done"));
  g_assert_cmpint (f->points, ==, 48);
  g_assert_cmpint (f->last_step, ==, 48);
  g_assert_cmpint (f->evals, ==, 3);
  g_assert_true (f->memory);
  g_assert_cmpint (f->checkpoints, >, 0);
  g_autofree char *weights = g_build_filename (f->folder, "run", "weights.safetensors", NULL);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));

  /* The same folder is refused, in a sentence, and the worker lives on. */
  worker_start_ok (f, 0, FALSE);
  WAIT_UNTIL (worker_state_is (f, "failed"));
  g_assert_nonnull (strstr (f->problem, "already holds a run"));
}

static void
test_faults (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  worker_load (f, "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"liner\"/></graph>", 1);
  worker_load (f, "no graph at all", 1);
  worker_start (f, 0, FALSE, FALSE, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  loom_bus_worker1_call_pause_sync (f->bus, NULL, &error);
  g_assert_nonnull (error);
}

static gint64
snapshot (Fixture *f, const char *port, guint32 max_bytes, gint64 *shape, gsize *n_shape, gint64 *full_count,
          gsize *n_bytes, float *first)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) dims = NULL, full = NULL, bytes = NULL;
  gint64 step;
  gsize n;

  loom_bus_worker1_call_get_snapshot_sync (f->bus, port, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0), max_bytes,
                                           &step, &dims, &full, &bytes, NULL, &error);
  g_assert_no_error (error);
  const gint64 *d = g_variant_get_fixed_array (dims, n_shape, sizeof (gint64));
  if (d != NULL)
    memcpy (shape, d, *n_shape * sizeof (gint64));
  const gint64 *whole = g_variant_get_fixed_array (full, &n, sizeof (gint64));
  *full_count = 1;
  for (gsize i = 0; i < n; i++)
    *full_count *= whole[i];
  const float *values = g_variant_get_fixed_array (bytes, n_bytes, 1);
  if (first != NULL)
    *first = values[0];
  return step;
}

static void
test_commands (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  gint64 shape[8], full;
  gsize rank, bytes;
  float before, after;

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_assert_cmpint (f->points, ==, 0);

  g_assert_cmpint (snapshot (f, "hidden.weight", 4096, shape, &rank, &full, &bytes, &before), ==, 0);
  g_assert_cmpuint (rank, ==, 2);
  g_assert_cmpint (shape[0], ==, 16);
  g_assert_cmpint (shape[1], ==, 2);
  g_assert_cmpuint (bytes, ==, 16 * 2 * 4);

  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 1);
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 2);
  g_assert_cmpint (f->last_step, ==, 2);
  g_assert_cmpint (snapshot (f, "hidden.weight", 4096, shape, &rank, &full, &bytes, &after), ==, 1);
  g_assert_true (before != after);

  /* Downsampled to the requested size, and never more. */
  g_assert_cmpint (snapshot (f, "act", 64, shape, &rank, &full, &bytes, NULL), ==, 1);
  g_assert_cmpint (full, ==, 32 * 16);
  g_assert_cmpuint (bytes, <=, 64);
  g_assert_cmpuint (bytes, ==, shape[0] * shape[1] * 4);
  snapshot (f, "loss", 64, shape, &rank, &full, &bytes, NULL);
  g_assert_cmpuint (rank, ==, 0);
  snapshot (f, "grad:hidden.weight", 4096, shape, &rank, &full, &bytes, NULL);
  g_assert_cmpuint (bytes, ==, 16 * 2 * 4);

  CALL (f, set_hyper, "lr", 0.5);
  loom_bus_worker1_call_set_hyper_sync (f->bus, "batch_size", 0.5, NULL, &error);
  g_assert_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS);
  g_assert_nonnull (strstr (error->message, "The batch size must be a whole number from 1 to"));
  g_clear_error (&error);
  loom_bus_worker1_call_set_hyper_sync (f->bus, "lrr", 0.5, NULL, &error);
  g_assert_nonnull (error);
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 3);
  g_assert_cmpfloat (f->last_lr, ==, 0.5);

  CALL (f, checkpoint, &path);
  g_assert_true (g_str_has_suffix (path, "/checkpoints/3"));
  g_assert_true (g_file_test (path, G_FILE_TEST_IS_DIR));

  CALL (f, resume);
  WAIT_UNTIL (f->last_step > 50);
  g_assert_true (worker_state_is (f, "running"));
  CALL (f, pause);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_assert_cmpint (snapshot (f, "loss", 64, shape, &rank, &full, &bytes, NULL), ==, f->last_step - 1);
  g_assert_cmpint (snapshot (f, "hidden.weight", 4096, shape, &rank, &full, &bytes, NULL), ==, f->last_step - 1);
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
  /* A view can still be filled when the run is over. */
  snapshot (f, "scores", 4096, shape, &rank, &full, &bytes, NULL);
  g_assert_cmpint (full, ==, 64);

  /* Changed values apply when the checkpoint is resumed, and are reported. */
  g_assert_cmpfloat (f->base_lr, ==, 0.01);
  g_clear_error (&error);
  worker_start (f, 100000, TRUE, TRUE, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (f->base_lr == 0.5);
  CALL (f, stop);
}

static void
start_paced (Fixture *f, const char *folder, gint64 epochs, double at_least)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *run = g_build_filename (f->folder, folder, NULL);
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{sv}"));
  g_variant_builder_add (&b, "{sv}", "epochs", g_variant_new_int64 (epochs));
  g_variant_builder_add (&b, "{sv}", "at_least", g_variant_new_double (at_least));
  g_variant_builder_add (&b, "{sv}", "out", g_variant_new_string (run));
  f->last_step = 0;
  f->points = 0;
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, &error);
  g_assert_no_error (error);
}

/* s = x · y + z, by plain descent: the loss changes with each step, and is the value of s. */
#define DESCENT                                                                                                        \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"parameter\" shape=\"\" init=\"constant\" "    \
  "value=\"2\"/><node id=\"y\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"3\"/><node id=\"z\" "             \
  "op=\"parameter\" shape=\"\" init=\"constant\" value=\"4\"/><node id=\"product\" op=\"mul\"/><node id=\"s\" "        \
  "op=\"add\"/><wire from=\"x\" to=\"product.input\"/><wire from=\"y\" to=\"product.other\"/><wire from=\"product\" "  \
  "to=\"s.input\"/><wire from=\"z\" to=\"s.other\"/><train loss=\"s\" optimizer=\"sgd\" lr=\"%s\" epochs=\"1\"/>"      \
  "</graph>"

static float
value_of (Fixture *f, const char *port, gint64 step)
{
  gint64 shape[8], full;
  gsize rank, bytes;
  float value;

  g_assert_cmpint (snapshot (f, port, 64, shape, &rank, &full, &bytes, &value), ==, step);
  return value;
}

/* A paused run shows one step from before its update: the loss that it reported, the values, the gradients and the
 * weights; for ports that were requested before, and for others. */
static void
test_phase (Fixture *f, gconstpointer data)
{
  g_autofree char *lesson = g_strdup_printf (DESCENT, "0.1"), *slow = g_strdup_printf (DESCENT, "0.0000001");

  f->without_metrics = TRUE;
  worker_load (f, lesson, 0);
  worker_start_ok (f, 100, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_assert_cmpfloat (value_of (f, "s", 0), ==, 10);
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 1);
  g_assert_cmpfloat (f->last_loss, ==, 10);
  g_assert_cmpfloat (value_of (f, "s", 0), ==, 10);
  g_assert_cmpfloat (value_of (f, "x", 0), ==, 2);
  g_assert_cmpfloat (value_of (f, "grad:x", 0), ==, 3);
  g_assert_cmpfloat_with_epsilon (value_of (f, "now:x", 1), 1.7, 1e-6);
  g_assert_cmpfloat_with_epsilon (value_of (f, "now:grad:x", 1), 2.8, 1e-6);
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 2);
  g_assert_cmpfloat_with_epsilon (value_of (f, "x", 1), 1.7, 1e-6);
  g_assert_cmpfloat_with_epsilon (value_of (f, "grad:x", 1), 2.8, 1e-6);
  g_assert_cmpfloat (value_of (f, "s", 1), ==, (float)f->last_loss);
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
  g_assert_cmpfloat (value_of (f, "s", 1), ==, (float)f->last_loss);

  /* Paused, and stopped, while it runs. */
  worker_load (f, slow, 0);
  start_paced (f, "slow", 100000000, 0);
  WAIT_UNTIL (f->last_step > 50);
  CALL (f, pause);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_assert_cmpfloat (value_of (f, "s", f->last_step - 1), ==, (float)f->last_loss);
  g_assert_cmpfloat (value_of (f, "grad:x", f->last_step - 1), ==, value_of (f, "y", f->last_step - 1));
  CALL (f, resume);
  WAIT_UNTIL (worker_state_is (f, "running"));
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
  g_assert_cmpfloat (value_of (f, "s", f->last_step - 1), ==, (float)f->last_loss);

  /* And at its end. */
  start_paced (f, "end", 7, 0);
  WAIT_UNTIL (worker_state_is (f, "done"));
  g_assert_cmpint (f->last_step, ==, 7);
  g_assert_cmpfloat (value_of (f, "s", 6), ==, (float)f->last_loss);
}

/* A run that is stretched takes so long, makes its points all along, and ends with the same numbers. */
static void
test_pace (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  worker_load (f, worker_graph, 0);
  start_paced (f, "fast", 3, 0);
  WAIT_UNTIL (worker_state_is (f, "done"));
  double loss = f->last_loss;

  f->at_least = 2;
  gint64 begin = g_get_monotonic_time ();
  start_paced (f, "slow", 3, 2);
  WAIT_UNTIL (worker_state_is (f, "running"));
  WAIT_UNTIL (worker_state_is (f, "done"));
  double seconds = (g_get_monotonic_time () - begin) / 1e6;
  g_test_message ("a run of at least 2 s took %.2f s", seconds);
  g_assert_cmpfloat (seconds, >, 1.7);
  g_assert_cmpint (f->points, ==, 48);
  g_assert_cmpfloat (f->last_loss, ==, loss);

  f->at_least = 0;
  /* However slow it shall be, no step waits long: commands are heard, and the pace can be taken back. */
  start_paced (f, "slowest", 1000, 86400);
  WAIT_UNTIL (f->last_step > 2);
  begin = g_get_monotonic_time ();
  CALL (f, pause);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_test_message ("paused after %.0f ms", (g_get_monotonic_time () - begin) / 1e3);
  gint64 step = f->last_step;
  begin = g_get_monotonic_time ();
  CALL (f, resume);
  WAIT_UNTIL (worker_state_is (f, "running"));
  WAIT_UNTIL (f->last_step >= step + 10);
  g_assert_cmpfloat ((g_get_monotonic_time () - begin) / 1e6, >, 0.3);
  CALL (f, set_pace, 0);
  WAIT_UNTIL (worker_state_is (f, "done"));
  loom_bus_worker1_call_set_pace_sync (f->bus, 1, NULL, &error);
  g_assert_nonnull (error);
}

/* Requests during a run's preparation hold from its first step on. */
static void
test_early_pause (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000, FALSE);
  CALL (f, pause);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  gint64 step = f->last_step;
  g_assert_cmpint (step, <, 16000);
  CALL (f, step_batch);
  WAIT_UNTIL (f->last_step == step + 1);
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
}

static void
refuse_option (Fixture *f, const char *key, GVariant *value)
{
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{sv}"));
  g_variant_builder_add (&b, "{sv}", key, value);
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, &error);
  g_assert_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS);
  g_assert_nonnull (strstr (error->message, key));
}

static void
test_options (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  refuse_option (f, "epochs", g_variant_new_int32 (3));
  refuse_option (f, "lr", g_variant_new_string ("0.1"));
  refuse_option (f, "epoch", g_variant_new_int64 (3));
  refuse_option (f, "at_least", g_variant_new_double (-1));
  refuse_option (f, "at_least", g_variant_new_double (NAN));
  worker_start_ok (f, 1, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
}

/* More metrics than a signal carries are refused with their number, not cut off. */
static void
test_many_metrics (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) xml = g_string_new (worker_graph);
  g_autoptr (GString) metrics = g_string_new (NULL);

  for (int i = 0; i < 20; i++)
    g_string_append_printf (metrics, "<metric name=\"m%d\" type=\"accuracy\" input=\"scores\" target=\"data.y\"/>", i);
  char *end = strstr (xml->str, "</train>");
  g_string_insert (xml, end - xml->str, metrics->str);
  worker_load (f, xml->str, 0);
  worker_start_ok (f, 1, FALSE);
  WAIT_UNTIL (worker_state_is (f, "failed"));
  g_assert_nonnull (strstr (f->problem, "21 metrics"));
}

/* Notes about training, which are no faults, reach every client. */
static void
test_note (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) xml = g_string_new (worker_graph);

  g_string_replace (xml, "source=\"spirals\"", "source=\"spirals\" n=\"33\"", 1);
  g_string_replace (xml, "batch_size=\"64\"", "batch_size=\"32\"", 1);
  g_string_replace (xml, "op=\"relu\"", "op=\"batch_norm1d\"", 1);
  worker_load (f, xml->str, 0);
  worker_start_ok (f, 2, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  g_assert_nonnull (f->problem);
  g_assert_true (g_str_has_prefix (f->problem, "NOTE: "));
  g_assert_nonnull (strstr (f->problem, "batch"));
}

static void
test_nan (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) xml = g_string_new (worker_graph);

  /* Each step multiplies the weights by the rate times the decay. */
  g_string_replace (xml, "optimizer=\"adam\"", "optimizer=\"sgd\"", 1);
  worker_load (f, xml->str, 0);
  worker_start_ok (f, 1000, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  CALL (f, set_hyper, "weight_decay", 1e6);
  CALL (f, set_hyper, "lr", 1e6);
  CALL (f, resume);
  WAIT_UNTIL (worker_state_is (f, "failed"));
  g_assert_nonnull (f->problem);
  g_assert_true (g_str_has_prefix (f->problem, "NAN: "));
  /* The node is named apart from the sentence, so that its card can show it. */
  g_autofree char *named = g_strdup_printf ("at node %s (", f->failed_node);
  g_assert_cmpstr (f->failed_node, !=, "");
  g_assert_nonnull (strstr (f->problem, named));
}

/* A run that is over shows an earlier step, and a branch continues from it. */
static void
test_travel (Fixture *f, gconstpointer data)
{
  g_autofree char *run = g_build_filename (f->folder, "run", NULL),
                  *branch = g_build_filename (f->folder, "branch", NULL);
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;
  gint64 shown;
  double seconds;

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 2, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  CALL (f, travel, 5, &shown, &seconds);
  g_assert_cmpint (shown, ==, 5);
  g_assert_cmpfloat (seconds, >, 0);
  CALL (f, travel, -1, &shown, &seconds);
  g_assert_cmpint (shown, ==, 32);
  g_assert_false (loom_bus_worker1_call_travel_sync (f->bus, 33, &shown, &seconds, NULL, &error));
  g_assert_nonnull (strstr (error->message, "from 0 to 32"));
  g_clear_error (&error);
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{sv}"));
  g_variant_builder_add (&b, "{sv}", "branch", g_variant_new_string (run));
  g_variant_builder_add (&b, "{sv}", "branch_step", g_variant_new_int64 (5));
  g_variant_builder_add (&b, "{sv}", "out", g_variant_new_string (branch));
  f->last_step = 0;
  CALL (f, start, g_variant_builder_end (&b));
  WAIT_UNTIL (worker_state_is (f, "done") && f->last_step == 32);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/whole-run", Fixture, NULL, worker_set_up, test_whole_run, worker_tear_down);
  g_test_add ("/worker/faults", Fixture, NULL, worker_set_up, test_faults, worker_tear_down);
  g_test_add ("/worker/commands", Fixture, NULL, worker_set_up, test_commands, worker_tear_down);
  g_test_add ("/worker/travel", Fixture, NULL, worker_set_up, test_travel, worker_tear_down);
  g_test_add ("/worker/phase", Fixture, NULL, worker_set_up, test_phase, worker_tear_down);
  g_test_add ("/worker/pace", Fixture, NULL, worker_set_up, test_pace, worker_tear_down);
  g_test_add ("/worker/early-pause", Fixture, NULL, worker_set_up, test_early_pause, worker_tear_down);
  g_test_add ("/worker/options", Fixture, NULL, worker_set_up, test_options, worker_tear_down);
  g_test_add ("/worker/many-metrics", Fixture, NULL, worker_set_up, test_many_metrics, worker_tear_down);
  g_test_add ("/worker/note", Fixture, NULL, worker_set_up, test_note, worker_tear_down);
  g_test_add ("/worker/nan", Fixture, NULL, worker_set_up, test_nan, worker_tear_down);
  return g_test_run ();
}
