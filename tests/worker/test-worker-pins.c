/* Values of ports: parts of tensors, gradients, and words. */
#include <math.h>
#include <string.h>

#include "engine/interop/loom-safetensors.h"
#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

#define SEQUENCES                                                                                                      \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"copy\" "                \
  "length=\"2\" values=\"3\" n=\"8\" n_test=\"4\"/><node id=\"e\" op=\"embedding\" num_embeddings=\"5\" "              \
  "embedding_dim=\"5\"/><node id=\"t\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"l\" op=\"cross_entropy\"/>"  \
  "<wire from=\"data.x\" to=\"e\"/><wire from=\"e\" to=\"t\"/><wire from=\"t\" to=\"l.input\"/>"                       \
  "<wire from=\"data.y\" to=\"l.target\"/><train loss=\"l\" optimizer=\"sgd\" batch_size=\"4\"/></graph>"

/* The words at a port, separated by commas; NULL with an error. */
static char *
words_at (Fixture *f, const char *port, GError **error)
{
  g_autoptr (GVariant) dims = NULL, full = NULL, bytes = NULL;
  gint64 step;
  gsize n;

  if (!loom_bus_worker1_call_get_snapshot_sync (f->bus, port, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0), 4096,
                                                &step, &dims, &full, &bytes, NULL, error))
    return NULL;
  const char *sent = g_variant_get_fixed_array (bytes, &n, 1);
  char *text = g_malloc (n + 1);
  memcpy (text, sent, n);
  for (gsize i = 0; i < n; i++)
    text[i] = text[i] == '\0' ? ',' : text[i];
  text[n] = '\0';
  return text;
}

/* The labels of a map's rows and columns: the first test sample, whatever the run does; and ports without words. */
static void
test_words (Fixture *f, gconstpointer data)
{
  static const char *const without[] = { "e", "nothing.x" };
  g_autoptr (GError) error = NULL;
  g_autofree char *read = NULL, *said = NULL, *expected = NULL;

  worker_load (f, SEQUENCES, 0);
  worker_start_ok (f, 1, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  read = words_at (f, "words:data.x", &error);
  g_assert_no_error (error);
  said = words_at (f, "words:data.y", &error);
  g_assert_no_error (error);
  /* Two symbols, the mark, a blank; an answer of the same two, before which nothing counts. */
  g_assert_true (g_regex_match_simple ("^[abc],[abc],\\?,·,$", read, 0, 0));
  expected = g_strdup_printf (",,%.4s", read);
  g_assert_cmpstr (said, ==, expected);
  for (guint i = 0; i < G_N_ELEMENTS (without); i++)
    {
      g_autofree char *port = g_strconcat ("words:", without[i], NULL);

      g_assert_null (words_at (f, port, &error));
      g_assert_nonnull (strstr (error->message, without[i]));
      g_clear_error (&error);
    }
}

#define PINNED                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\"/>"            \
  "<node id=\"hidden\" op=\"linear\" out_features=\"12\"/><node id=\"act\" op=\"tanh\"/>"                              \
  "<node id=\"cube\" op=\"reshape\" shape=\"B,2,2,3\"/><node id=\"flat\" op=\"flatten\"/>"                             \
  "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"cube\"/>"            \
  "<wire from=\"cube\" to=\"flat\"/><wire from=\"flat\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"      \
  "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"32\" "     \
  "epochs=\"1\" seed=\"4\"/></graph>"

/* The numbers of a port, with a text of its shape, "2x3", and of the index: "0 -1". */
static float *
numbers (Fixture *f, const char *port, const char *index, gint64 *step, char **shape, gsize *n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) dims = NULL, full = NULL, bytes = NULL;
  g_auto (GStrv) words = g_strsplit (index, " ", -1);
  gint64 at[8];
  gsize n_at = 0, rank;

  for (; words[n_at] != NULL && *words[n_at] != '\0'; n_at++)
    at[n_at] = g_ascii_strtoll (words[n_at], NULL, 10);
  loom_bus_worker1_call_get_snapshot_sync (f->bus, port,
                                           g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, at, n_at, sizeof *at),
                                           1 << 20, step, &dims, &full, &bytes, NULL, &error);
  g_assert_no_error (error);
  const gint64 *d = g_variant_get_fixed_array (dims, &rank, sizeof *d);
  g_autoptr (GString) text = g_string_new (NULL);
  for (gsize i = 0; i < rank; i++)
    g_string_append_printf (text, "%s%d", i > 0 ? "x" : "", (int)d[i]);
  *shape = g_strdup (text->str);
  const float *values = g_variant_get_fixed_array (bytes, n, 1);
  *n /= sizeof (float);
  return g_memdup2 (values, *n * sizeof (float));
}

/* An index keeps whole dimensions, and summaries are of the whole tensor. */
static void
test_parts (Fixture *f, gconstpointer data)
{
  g_autofree char *all_shape = NULL, *one_shape = NULL, *bins_shape = NULL, *norm_shape = NULL;
  gint64 step;
  gsize n_all, n_one, n_bins, n_norm;
  double sum = 0, squares = 0, count = 0;

  f->without_metrics = TRUE;
  worker_load (f, PINNED, 0);
  worker_start_ok (f, 1, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_autofree float *all = numbers (f, "cube", "3 -1", &step, &all_shape, &n_all);
  g_autofree float *one = numbers (f, "cube", "3 1", &step, &one_shape, &n_one);
  g_assert_cmpstr (all_shape, ==, "2x2x3");
  g_assert_cmpstr (one_shape, ==, "2x3");
  g_assert_cmpmem (all + 6, 6 * sizeof (float), one, n_one * sizeof (float));
  g_autofree float *bins = numbers (f, "bins:hidden.weight", "", &step, &bins_shape, &n_bins);
  g_autofree float *norm = numbers (f, "norm:hidden.weight", "", &step, &norm_shape, &n_norm);
  g_autofree char *shape = NULL;
  g_autofree float *weight = numbers (f, "hidden.weight", "", &step, &shape, &n_one);
  g_assert_cmpstr (shape, ==, "12x2");
  g_assert_cmpstr (bins_shape, ==, "66");
  g_assert_cmpstr (norm_shape, ==, "5");
  for (gsize i = 0; i < n_one; i++)
    {
      sum += weight[i];
      squares += weight[i] * weight[i];
      g_assert_true (weight[i] >= bins[0] && weight[i] <= bins[1]);
    }
  for (gsize b = 2; b < n_bins; b++)
    count += bins[b];
  g_assert_cmpfloat (count, ==, n_one);
  g_assert_cmpfloat_with_epsilon (norm[0], sqrt (squares), 1e-5);
  g_assert_cmpfloat_with_epsilon (norm[1], sum / (double)n_one, 1e-5);
  g_assert_cmpfloat (norm[3], ==, bins[0]);
  g_assert_cmpfloat (norm[4], ==, bins[1]);
}

/* The gradient is that of gradloom run --grads on the same samples and weights; the update is the difference of the
 * weights before and after a step. */
static void
test_gradients (Fixture *f, gconstpointer data)
{
  g_autofree char *graph = g_build_filename (f->folder, "pinned.xml", NULL), *program = worker_program ();
  g_autofree char *grads = g_build_filename (f->folder, "grads.safetensors", NULL), *shape = NULL, *message = NULL;
  const char *argv[] = { program, "run", graph, "--grad", "loss", "--grads", grads, NULL };
  g_autoptr (GError) error = NULL;
  gint64 step;
  gsize n, n_update;
  int status;

  g_assert_true (g_file_set_contents (graph, PINNED, -1, NULL));
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &message, &status, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (message, ==, "");
  f->without_metrics = TRUE;
  worker_load (f, PINNED, 0);
  worker_start_ok (f, 1, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_autofree float *gradient = numbers (f, "grad:hidden.weight", "", &step, &shape, &n);
  LoomTensorFile *file = loom_safetensors_open (grads, &error);
  g_assert_no_error (error);
  const int at = loom_tensor_file_find (file, "hidden.weight");
  g_assert_cmpint (at, >=, 0);
  g_autoptr (LoomTensor) expected = loom_tensor_file_tensor (file, (guint)at, NULL);
  g_assert_cmpint (expected->count, ==, n);
  double most = 0;
  for (gsize i = 0; i < n; i++)
    {
      g_assert_cmpfloat_with_epsilon (gradient[i], loom_tensor_get (expected, (gint64)i), 1e-6);
      most = MAX (most, fabs (gradient[i]));
    }
  g_assert_cmpfloat (most, >, 1e-4);
  loom_tensor_file_free (file);

  g_autofree char *one_shape = NULL, *two_shape = NULL, *three_shape = NULL;
  g_autofree float *before = numbers (f, "now:hidden.weight", "", &step, &one_shape, &n);
  loom_bus_worker1_call_step_batch_sync (f->bus, NULL, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (f->last_step == 1 && worker_state_is (f, "paused"));
  g_autofree float *update = numbers (f, "update:hidden.weight", "", &step, &two_shape, &n_update);
  g_assert_cmpint (step, ==, 0);
  g_autofree float *after = numbers (f, "now:hidden.weight", "", &step, &three_shape, &n);
  g_assert_cmpint (step, ==, 1);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat (update[i], ==, after[i] - before[i]);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/words", Fixture, NULL, worker_set_up, test_words, worker_tear_down);
  g_test_add ("/worker/parts", Fixture, NULL, worker_set_up, test_parts, worker_tear_down);
  g_test_add ("/worker/gradients", Fixture, NULL, worker_set_up, test_gradients, worker_tear_down);
  return g_test_run ();
}
