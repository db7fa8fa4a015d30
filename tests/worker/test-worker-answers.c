/* Predictions and evaluations by the worker. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

/* The answer of `gradloom predict` for the same points: the probability of class 0 at each. */
static void
predict_by_command (Fixture *f, const float *points, guint n, double *zero)
{
  g_autofree char *program = worker_program (), *run = g_build_filename (f->folder, "run", NULL);
  g_autofree char *rows = g_build_filename (f->folder, "rows.csv", NULL), *said = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  const char *argv[] = { program, "predict", "--json", run, rows, NULL };

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%.9g,%.9g\n", points[2 * i], points[2 * i + 1]);
  g_assert_true (g_file_set_contents (rows, text->str, -1, NULL));
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &said, NULL, NULL, &error);
  g_assert_no_error (error);
  g_auto (GStrv) lines = g_strsplit (said, "\n", -1);
  for (guint i = 0; i < n; i++)
    {
      const char *at = strstr (lines[i], "{\"class\":0,\"probability\":");
      g_assert_nonnull (at);
      zero[i] = g_ascii_strtod (at + strlen ("{\"class\":0,\"probability\":"), NULL);
    }
}

static void
refuse_samples (Fixture *f, const gint64 *shape, gsize rank, gsize bytes)
{
  g_autofree guint8 *data = g_malloc0 (bytes);
  g_autoptr (GError) error = NULL;

  g_assert_false (loom_bus_worker1_call_predict_sync (
      f->bus, g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, shape, rank, sizeof (gint64)),
      g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, bytes, 1),
      g_variant_new_array (G_VARIANT_TYPE ("(saxay)"), NULL, 0), NULL, NULL, NULL, NULL, NULL, NULL, NULL, &error));
  g_assert_nonnull (error);
}

/* Predictions for a grid of points are those of the command line, at the step of the run's end; an invalid batch of
 * points is refused. */
static void
test_predict (Fixture *f, gconstpointer data)
{
  g_autoptr (GVariant) shape = NULL, bytes = NULL;
  g_autofree char *kind = NULL;
  g_autoptr (GError) error = NULL;
  const gint64 dim[] = { 25, 2 }, wrong[] = { 25, 3 }, huge[] = { G_MAXINT64 / 2, 4 };
  float points[50];
  double zero[25], seconds;
  gint64 step, epoch;
  gsize n;

  for (int i = 0; i < 25; i++)
    {
      points[2 * i] = (float)(i % 5 - 2) / 2;
      points[2 * i + 1] = (float)(i / 5 - 2) / 2;
    }
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 3, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  loom_bus_worker1_call_predict_sync (f->bus, g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, 2, sizeof (gint64)),
                                      g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, points, sizeof points, 1),
                                      g_variant_new_array (G_VARIANT_TYPE ("(saxay)"), NULL, 0), &step, &epoch,
                                      &seconds, &kind, &shape, &bytes, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (step, ==, f->last_step);
  g_assert_cmpint (epoch, ==, 3);
  g_assert_cmpfloat (seconds, >, 0);
  g_assert_cmpstr (kind, ==, "probabilities");
  const gint64 *answer_dim = g_variant_get_fixed_array (shape, &n, sizeof (gint64));
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmpint (answer_dim[0], ==, 25);
  g_assert_cmpint (answer_dim[1], ==, 1);
  g_assert_cmpint (answer_dim[2], ==, 2);
  const float *answer = g_variant_get_fixed_array (bytes, &n, 1);
  g_assert_cmpuint (n, ==, 50 * sizeof (float));
  predict_by_command (f, points, 25, zero);
  for (int i = 0; i < 25; i++)
    g_assert_cmpfloat_with_epsilon (answer[2 * i], zero[i], 1e-6);
  refuse_samples (f, wrong, 2, 25 * 3 * 4);
  refuse_samples (f, dim, 2, 8);
  refuse_samples (f, huge, 2, 8);
  refuse_samples (f, NULL, 0, 0);
}

/* A part of the evaluation as numbers. (transfer full) */
static double *
get_evaluation (Fixture *f, const char *what, gint64 page, gint64 dim[2], gint64 *total)
{
  g_autoptr (GVariant) shape = NULL, bytes = NULL;
  g_autoptr (GError) error = NULL;
  gint64 step;
  gsize n;

  loom_bus_worker1_call_get_evaluation_sync (f->bus, what, page, &step, total, &shape, &bytes, NULL, &error);
  g_assert_no_error (error);
  const gint64 *sizes = g_variant_get_fixed_array (shape, &n, sizeof (gint64));
  g_assert_cmpuint (n, ==, 2);
  memcpy (dim, sizes, 2 * sizeof *dim);
  const char *raw = g_variant_get_fixed_array (bytes, &n, 1);
  g_assert_cmpuint (n, ==, (gsize)(dim[0] * dim[1]) * sizeof (double));
  return g_memdup2 (raw, n);
}

static void
refuse_part (Fixture *f, const char *what)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (loom_bus_worker1_call_get_evaluation_sync (f->bus, what, 0, NULL, NULL, NULL, NULL, NULL, &error));
  g_assert_nonnull (error);
}

/* While the run is paused and after its end: the parts agree with each other, and the folder keeps a line each. */
static void
test_evaluate (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *run = g_build_filename (f->folder, "run", NULL);
  gint64 step, epoch, n, total, dim[2], cells;
  double seconds, wrong = 0;

  g_assert_false (loom_bus_worker1_call_evaluate_sync (f->bus, "", 0, NULL, NULL, NULL, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "Nothing has been trained yet"));
  g_clear_error (&error);
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 3, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  refuse_part (f, "summary");
  CALL (f, evaluate, "test", 0, &step, &epoch, &n, &seconds);
  g_assert_cmpint (step, ==, 0);
  g_autofree double *before = get_evaluation (f, "confusion", 0, dim, &total);
  CALL (f, resume);
  WAIT_UNTIL (worker_state_is (f, "done"));
  CALL (f, evaluate, "test", 0, &step, &epoch, &n, &seconds);
  g_assert_cmpint (step, ==, f->last_step);
  g_assert_cmpint (n, >, 0);
  g_autofree double *summary = get_evaluation (f, "summary", 0, dim, &total);
  g_assert_cmpfloat (summary[0], ==, 2);
  g_assert_cmpfloat (summary[2], ==, (double)n);
  g_autofree double *counts = get_evaluation (f, "confusion", 0, dim, &total);
  g_assert_cmpint (dim[0], ==, 2);
  g_assert_cmpfloat (counts[0] + counts[1] + counts[2] + counts[3], ==, (double)n);
  g_assert_cmpfloat_with_epsilon ((counts[0] + counts[3]) / (double)n, summary[6], 1e-12);
  wrong = counts[1] + counts[2];
  g_autofree double *mistakes = get_evaluation (f, "mistakes", 0, dim, &total);
  g_assert_cmpfloat ((double)total, ==, wrong);
  for (gint64 i = 1; i < dim[0]; i++)
    g_assert_cmpfloat (mistakes[5 * i + 4], <=, mistakes[5 * i - 1]);
  g_autofree double *cell = get_evaluation (f, "cell:0:1", 0, dim, &cells);
  g_assert_cmpfloat ((double)cells, ==, counts[1]);
  g_autofree double *bins = get_evaluation (f, "calibration", 0, dim, &total);
  g_assert_cmpint (dim[0], ==, 15);
  /* Also of the evaluation before the first step. */
  for (int k = 0; k < 4; k++)
    {
      g_autofree char *what = g_strdup_printf ("test/0/cell:%d:%d", k / 2, k % 2);
      g_autofree double *kept = get_evaluation (f, what, 0, dim, &cells);
      g_assert_cmpfloat ((double)cells, ==, before[k]);
      for (gint64 i = 0; i < dim[0]; i++)
        g_assert_true (kept[5 * i + 1] == k / 2 && kept[5 * i + 2] == k % 2);
    }
  refuse_part (f, "test/1/cell:0:1");
  refuse_part (f, "test/0/summary");
  refuse_part (f, "none/0/cell:0:1");
  refuse_part (f, "test/cell:0:1");
  refuse_part (f, "cell:0");
  refuse_part (f, "everything");
  g_assert_false (loom_bus_worker1_call_evaluate_sync (f->bus, "all", 0, NULL, NULL, NULL, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "no split"));

  g_autofree char *kept = g_build_filename (run, "evaluations.jsonl", NULL), *text = NULL;
  g_assert_true (g_file_get_contents (kept, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "{\"split\":\"test\",\"step\":0,"));
  g_assert_nonnull (strstr (text, "\"confusion\":["));
}

/* A net that reads no text refuses to continue one; the sentence comes with the text. */
static void
test_generate_refused (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  CALL (f, generate, "a", 5, 0.5, 0, 1);
  for (;;)
    {
      g_autoptr (GVariant) text = NULL;
      g_autofree char *message = NULL;
      gboolean writing;

      CALL (f, get_generated, 0, &text, &writing, &message);
      if (writing)
        continue;
      g_assert_nonnull (strstr (message, "does not read text"));
      break;
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/evaluate", Fixture, NULL, worker_set_up, test_evaluate, worker_tear_down);
  g_test_add ("/worker/generate-refused", Fixture, NULL, worker_set_up, test_generate_refused, worker_tear_down);
  g_test_add ("/worker/predict", Fixture, NULL, worker_set_up, test_predict, worker_tear_down);
  return g_test_run ();
}
