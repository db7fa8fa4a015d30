/* Runs of several ranks in a worker that has started none, so that they are its threads. */
#include <math.h>
#include <string.h>

#include "engine/train/loom-trace.h"
#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

static void
start_ranks (Fixture *f, int ranks, gint64 epochs, gboolean paused, const char *out)
{
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&b, "{sv}", "ranks", g_variant_new_int32 (ranks));
  g_variant_builder_add (&b, "{sv}", "epochs", g_variant_new_int64 (epochs));
  g_variant_builder_add (&b, "{sv}", "paused", g_variant_new_boolean (paused));
  if (out != NULL)
    g_variant_builder_add (&b, "{sv}", "out", g_variant_new_string (out));
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, &error);
  g_assert_no_error (error);
}

/* The bytes of a snapshot, and the step that they are of. (transfer full) */
static GVariant *
read_port (Fixture *f, const char *port, gint64 *step)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) dims = NULL, full = NULL;
  GVariant *bytes = NULL;

  loom_bus_worker1_call_get_snapshot_sync (f->bus, port, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0), 1 << 20,
                                           step, &dims, &full, &bytes, NULL, &error);
  g_assert_no_error (error);
  return bytes;
}

/* One that is text. */
static char *
read_text (Fixture *f, const char *port)
{
  gint64 step;
  gsize n;
  g_autoptr (GVariant) bytes = read_port (f, port, &step);
  const char *text = g_variant_get_fixed_array (bytes, &n, 1);
  return text != NULL ? g_strndup (text, n) : g_strdup ("");
}

/* A line of losses: that of all is the mean of those of two ranks with equally many samples, which differ. */
static void
check_losses (const char *text)
{
  const char *loss = strstr (text, "\"loss\":"), *ranks = strstr (text, "\"ranks\":[");
  char *end;

  g_assert_true (loss != NULL && ranks != NULL);
  double all = g_ascii_strtod (loss + strlen ("\"loss\":"), NULL);
  double first = g_ascii_strtod (ranks + strlen ("\"ranks\":["), &end), second = g_ascii_strtod (end + 1, NULL);
  g_assert_cmpfloat_with_epsilon ((first + second) / 2, all, 1e-6);
  g_assert_cmpfloat (fabs (first - second), >, 1e-4);
}

/* Two ranks in the worker: each pause, step and trace is of both; the run ends as one. */
static void
test_ranks (Fixture *f, gconstpointer data)
{
  g_autofree char *before = NULL, *after = NULL, *none = NULL, *losses = NULL, *memory = NULL, *later = NULL;

  worker_load (f, worker_graph, 0);
  start_ranks (f, 2, 2, TRUE, NULL);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  before = read_text (f, "trace:");
  g_assert_cmpstr (before, ==, "{\"traceEvents\":[]}");
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 1);
  after = read_text (f, "trace:");
  g_assert_nonnull (strstr (after, "rank 1"));
  g_assert_nonnull (strstr (after, "\"cat\":\"exchange\""));
  g_assert_nonnull (strstr (after, "\"node\":\"hidden\""));
  /* Requested values are reported for the next steps, once each. */
  none = read_text (f, "losses:");
  g_assert_cmpstr (none, ==, "");
  g_free (read_text (f, "ranks:"));
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 2);
  losses = read_text (f, "losses:");
  check_losses (losses);
  g_assert_true (g_str_has_prefix (losses, "{\"step\":2,") && strchr (losses, '\n') == losses + strlen (losses) - 1);
  memory = read_text (f, "ranks:");
  g_assert_nonnull (strstr (memory, "{\"rank\":1,"));
  later = read_text (f, "losses:");
  g_assert_cmpstr (later, ==, "");
  /* All ranks stand at a breakpoint, and stay together. */
  CALL (f, set_breakpoints, g_variant_new_parsed ("[('act', 'gradient_above', 0.0)]"));
  CALL (f, resume);
  WAIT_UNTIL (f->problem != NULL && strstr (f->problem, "Stopped before the update") != NULL
              && strstr (f->problem, "on rank 0") != NULL && worker_state_is (f, "paused"));
  CALL (f, set_breakpoints, g_variant_new_parsed ("@a(ssd) []"));
  CALL (f, resume);
  WAIT_UNTIL (worker_state_is (f, "done"));
  /* 1,024 samples in batches of 2 × 64. */
  g_assert_cmpint (f->last_step, ==, 16);
}

/* ---- values in views ---- */

static void
load_parallel (Fixture *f, const char *parallel)
{
  g_autoptr (GString) xml = g_string_new (worker_graph);
  g_autofree char *element = g_strdup_printf ("<parallel %s/>", parallel);

  g_string_insert (xml, strstr (xml->str, "<metric") - xml->str, element);
  if (strstr (parallel, "tensor") != NULL)
    {
      g_string_replace (xml, "features=\"16\"", "features=\"16\" split=\"column\"", 1);
      g_string_replace (xml, "features=\"2\"", "features=\"2\" split=\"row\"", 1);
    }
  worker_load (f, xml->str, 0);
}

static void
append (GArray *seen, GVariant *bytes, guint expected)
{
  gsize n;
  const float *x = g_variant_get_fixed_array (bytes, &n, 1);

  g_assert_cmpuint (n, ==, expected * sizeof (float));
  g_array_append_vals (seen, x, expected);
}

static void
append_port (Fixture *f, const char *port, guint expected, GArray *seen)
{
  gint64 step;
  g_autofree char *now = g_strconcat ("now:", port, NULL);
  g_autoptr (GVariant) bytes = read_port (f, now, &step);

  g_assert_cmpint (step, ==, f->last_step);
  append (seen, bytes, expected);
}

/* Two weights, which may be sharded, a layer's output for the fixed sample, a gradient, and predictions. */
static void
append_all (Fixture *f, GArray *seen)
{
  static const float points[] = { 0.5f, -0.25f, 0, 0, -1, 0.75f };
  static const gint64 dim[] = { 3, 2 };
  g_autoptr (GVariant) shape = NULL, bytes = NULL;
  g_autofree char *kind = NULL;
  g_autoptr (GError) error = NULL;
  gint64 step, epoch;
  double seconds;

  append_port (f, "hidden.weight", 32, seen);
  append_port (f, "scores.weight", 32, seen);
  append_port (f, "act", 32 * 16, seen);
  append_port (f, "grad:scores.bias", 2, seen);
  loom_bus_worker1_call_predict_sync (f->bus, g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, 2, sizeof (gint64)),
                                      g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, points, sizeof points, 1),
                                      g_variant_new_array (G_VARIANT_TYPE ("(saxay)"), NULL, 0), &step, &epoch,
                                      &seconds, &kind, &shape, &bytes, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (step, ==, f->last_step);
  append (seen, bytes, 6);
}

/* A step taken apart over the weights that all ranks gather: mean and norm of what it computes. The ranks' update is
 * not walked. */
static void
append_walk (Fixture *f, gboolean has_update, GArray *seen)
{
  static const char *const ports[] = { "act", "loss", "grad:hidden.weight", "grad:scores.bias", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) begun = NULL, place = NULL, updated = NULL, values = NULL;
  gint64 step;

  loom_bus_worker1_call_begin_step_sync (f->bus, &begun, NULL, &error);
  g_assert_no_error (error);
  g_variant_get_child (begun, 0, "x", &step);
  g_assert_cmpint (step, ==, f->last_step + 1);
  loom_bus_worker1_call_finish_phase_sync (f->bus, "backward", &place, NULL, &error);
  g_assert_no_error (error);
  loom_bus_worker1_call_get_step_values_sync (f->bus, ports, &values, NULL, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < g_variant_n_children (values); i++)
    {
      g_autoptr (GVariant) value = g_variant_get_child_value (values, i);
      double number;

      for (gsize k = 5; k <= 9; k += 4) /* mean, norm */
        {
          g_variant_get_child (value, k, "d", &number);
          const float x = (float)number;
          g_array_append_val (seen, x);
        }
    }
  loom_bus_worker1_call_finish_phase_sync (f->bus, "update", &updated, NULL, &error);
  g_assert_true (has_update ? error == NULL : error != NULL && strstr (error->message, "Take the step") != NULL);
  CALL (f, end_step);
}

/* What views see of a run after its third step, while it continues (nothing but that they are answered), and as it
 * ended. */
static GArray *
look (Fixture *f, const char *parallel, int ranks)
{
  GArray *seen = g_array_new (FALSE, FALSE, sizeof (float));

  load_parallel (f, parallel);
  f->last_step = f->points = 0;
  start_ranks (f, ranks, 6, TRUE, NULL);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  append_all (f, seen);
  append_walk (f, ranks == 1, seen);
  for (int i = 1; i <= 3; i++)
    {
      CALL (f, step_batch);
      WAIT_UNTIL (f->points == i);
    }
  WAIT_UNTIL (worker_state_is (f, "paused"));
  append_all (f, seen);
  append_walk (f, ranks == 1, seen);
  CALL (f, resume);
  for (int i = 0; i < 5; i++)
    g_free (read_text (f, "act"));
  WAIT_UNTIL (worker_state_is (f, "done"));
  append_all (f, seen);
  return seen;
}

static void
test_views (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *parallel;
    int ranks;
    const char *like;
    int ranks_like;
  } runs[] = {
    { "strategy=\"zero3\"", 2, "strategy=\"data\"", 2 },
    { "strategy=\"zero1\"", 2, "strategy=\"data\"", 2 },
    { "tensor=\"2\"", 2, "strategy=\"data\"", 1 },
    { "pipeline=\"2\" microbatches=\"4\"", 2, "strategy=\"data\"", 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autoptr (GArray) want = look (f, runs[i].like, runs[i].ranks_like);
      g_autoptr (GArray) got = look (f, runs[i].parallel, runs[i].ranks);

      g_assert_cmpuint (got->len, ==, want->len);
      for (guint k = 0; k < got->len; k++)
        {
          const double x = g_array_index (got, float, k), y = g_array_index (want, float, k);

          if (fabs (x - y) > 1e-3 * MAX (1, fabs (y)))
            g_error ("%s: value %u is %g instead of %g", runs[i].parallel, k, x, y);
        }
    }
}

/* Ranks with parts of the weights stand at a breakpoint, too. Its rank is named if each has samples of its own. */
static void
test_break_divided (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *parallel;
    gboolean has_rank;
  } runs[]
      = { { "strategy=\"zero3\"", TRUE }, { "tensor=\"2\"", FALSE }, { "pipeline=\"2\" microbatches=\"4\"", FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autoptr (GVariant) place = NULL;
      g_autoptr (GError) error = NULL;
      gint64 step;

      load_parallel (f, runs[i].parallel);
      g_clear_pointer (&f->problem, g_free);
      f->last_step = f->points = 0;
      start_ranks (f, 2, 2, TRUE, NULL);
      WAIT_UNTIL (worker_state_is (f, "paused"));
      CALL (f, step_batch);
      WAIT_UNTIL (f->points == 1 && worker_state_is (f, "paused"));
      CALL (f, set_breakpoints, g_variant_new_parsed ("[('act', 'gradient_above', 0.0)]"));
      CALL (f, resume);
      WAIT_UNTIL (f->problem != NULL && strstr (f->problem, "Stopped before the update") != NULL
                  && worker_state_is (f, "paused"));
      g_assert_true ((strstr (f->problem, "on rank 0") != NULL) == runs[i].has_rank);
      loom_bus_worker1_call_begin_step_sync (f->bus, &place, NULL, &error);
      g_assert_no_error (error);
      g_variant_get_child (place, 0, "x", &step);
      g_assert_cmpint (step, ==, 2);
      CALL (f, end_step);
      CALL (f, set_breakpoints, g_variant_new_parsed ("@a(ssd) []"));
      CALL (f, resume);
      WAIT_UNTIL (worker_state_is (f, "done"));
    }
}

/* A parameter server has no step of all ranks, and so no trace; it runs into a folder all the same, as Studio's do. */
static void
test_server (Fixture *f, gconstpointer data)
{
  g_autofree char *run = g_build_filename (f->folder, "run", NULL);
  g_autofree char *trace = g_build_filename (run, LOOM_TRACE_FILE, NULL);
  g_autoptr (GVariant) place = NULL;
  g_autoptr (GError) error = NULL;

  load_parallel (f, "strategy=\"server\" staleness=\"4\"");
  start_ranks (f, 3, 2, TRUE, run);
  WAIT_UNTIL (worker_state_is (f, "paused") || worker_state_is (f, "failed"));
  g_assert_cmpstr (f->problem, ==, NULL);
  g_assert_false (loom_bus_worker1_call_begin_step_sync (f->bus, &place, NULL, &error));
  g_assert_nonnull (strstr (error->message, "take no common step"));
  g_free (read_text (f, "losses:"));
  CALL (f, resume);
  WAIT_UNTIL (worker_state_is (f, "done"));
  g_assert_cmpint (f->last_step, >, 0);
  g_assert_cmpint (f->checkpoints, >, 0);
  g_assert_false (g_file_test (trace, G_FILE_TEST_EXISTS));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/ranks/together", Fixture, NULL, worker_set_up, test_ranks, worker_tear_down);
  g_test_add ("/worker/ranks/views", Fixture, NULL, worker_set_up, test_views, worker_tear_down);
  g_test_add ("/worker/ranks/break-divided", Fixture, NULL, worker_set_up, test_break_divided, worker_tear_down);
  g_test_add ("/worker/ranks/server", Fixture, NULL, worker_set_up, test_server, worker_tear_down);
  return g_test_run ();
}
