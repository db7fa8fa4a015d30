/* The worker as Studio meets it: spawned, spoken to over its pipes, stopped, stalled, killed.
 *
 * Each test has a worker of its own. Prints of libraries before the magic line and after it, a client that no longer
 * reads, and the end of input are the cases that break such a connection in practice. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/interop/loom-safetensors.h"
#include "tests/scratch.h"
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

/* ---- a step taken apart ------------------------------------------------ */

typedef struct
{
  gint64 step;
  char phase[16], node[64];
  guint index, count;
} Place;

static Place
read_place (GVariant *place)
{
  Place p;
  const char *phase, *node;

  g_variant_get (place, "(x&s&s&suuxxbbi)", &p.step, &phase, &node, NULL, &p.index, &p.count, NULL, NULL, NULL, NULL,
                 NULL);
  g_strlcpy (p.phase, phase, sizeof p.phase);
  g_strlcpy (p.node, node, sizeof p.node);
  g_variant_unref (place);
  return p;
}

static gboolean
is_known (Fixture *f, const char *port)
{
  const char *const ports[] = { port, NULL };
  g_autoptr (GVariant) values = NULL, first = NULL, known = NULL;

  CALL (f, get_step_values, ports, &values);
  first = g_variant_get_child_value (values, 0);
  known = g_variant_get_child_value (first, 0);
  return g_variant_get_boolean (known);
}

static void
test_step (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  GVariant *place = NULL;
  Place p;

  loom_bus_worker1_call_begin_step_sync (f->bus, &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  loom_bus_worker1_call_move_step_sync (f->bus, "next", &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);

  CALL (f, begin_step, &place);
  p = read_place (place);
  g_assert_cmpint (p.step, ==, 1);
  g_assert_cmpstr (p.node, ==, "");
  CALL (f, move_step, "next", &place);
  p = read_place (place);
  g_assert_cmpstr (p.node, ==, "hidden");
  g_assert_cmpstr (p.phase, ==, "forward");
  g_assert_cmpuint (p.index, ==, 1);
  g_assert_true (is_known (f, "hidden"));
  g_assert_false (is_known (f, "act") || is_known (f, "grad:hidden"));
  CALL (f, finish_phase, "backward", &place);
  p = read_place (place);
  g_assert_cmpstr (p.phase, ==, "backward");
  g_assert_cmpuint (p.index, ==, p.count);
  g_assert_true (is_known (f, "grad:hidden"));
  loom_bus_worker1_call_go_to_node_sync (f->bus, "nothing", "forward", &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  loom_bus_worker1_call_move_step_sync (f->bus, "sideways", &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  CALL (f, go_to_node, "act", "forward", &place);
  p = read_place (place);
  g_assert_cmpstr (p.node, ==, "act");
  g_assert_cmpint (f->points, ==, 0);

  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 1);
  CALL (f, end_step);
  CALL (f, begin_step, &place);
  p = read_place (place);
  g_assert_cmpint (p.step, ==, 2);
  CALL (f, end_step);
}

/* A graph without data is computed without a run. */
static void
test_compute (Fixture *f, gconstpointer data)
{
  static const char *const ports[] = { "y", "nothing", NULL };
  g_autoptr (GVariant) values = NULL, none = NULL, first = NULL, is_known = NULL, second = NULL, is_unknown = NULL;
  g_autoptr (GError) error = NULL;

  CALL (f, compute_graph,
        "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"parameter\" shape=\"3\"/>"
        "<node id=\"y\" op=\"relu\"/><wire from=\"x\" to=\"y\"/></graph>",
        ports, &values);
  first = g_variant_get_child_value (values, 0);
  second = g_variant_get_child_value (values, 1);
  is_known = g_variant_get_child_value (first, 0);
  is_unknown = g_variant_get_child_value (second, 0);
  g_assert_true (g_variant_get_boolean (is_known));
  g_assert_false (g_variant_get_boolean (is_unknown));
  g_assert_false (loom_bus_worker1_call_compute_graph_sync (f->bus, worker_graph, ports, &none, NULL, &error));
  g_assert_nonnull (strstr (error->message, "needs data"));
}

static void
test_breakpoint (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  loom_bus_worker1_call_set_breakpoints_sync (f->bus, g_variant_new_parsed ("[('act', 'odd', 1.0)]"), NULL, &error);
  g_assert_nonnull (error);
  CALL (f, set_breakpoints, g_variant_new_parsed ("[('act', 'gradient_above', 0.0)]"));
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_assert_cmpint (f->points, ==, 0);
  g_assert_nonnull (strstr (f->problem, "Stopped before the update of step 1"));
  g_assert_cmpstr (f->failed_node, ==, "act");
  CALL (f, set_breakpoints, g_variant_new_array (G_VARIANT_TYPE ("(ssd)"), NULL, 0));
  CALL (f, resume);
  WAIT_UNTIL (f->last_step > 20);
  g_assert_true (worker_state_is (f, "running"));
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
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

/* ---- what pins ask for ---------------------------------------------------------------- */

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

/* Studio has exited: the run finishes its step, writes a checkpoint, and the process exits. */
static void
test_end_of_input (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (f->last_step > 10);
  g_dbus_connection_close_sync (f->connection, NULL, NULL);
  int status = worker_reap (f);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_autofree char *weights = g_build_filename (f->folder, "run", "weights.safetensors", NULL);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
}

/* A killed worker is detected at once, and another one resumes the run. */
static void
test_kill (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  g_autofree char *program = worker_program ();
  const char *argv[] = { program, "worker", NULL };
  Fixture next = { 0 };

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (f->last_step > 10);
  CALL (f, checkpoint, &path);
  gint64 seen = g_ascii_strtoll (strrchr (path, '/') + 1, NULL, 10);
  kill (f->pid, SIGKILL);
  WAIT_UNTIL (f->closed);
  worker_reap (f);

  worker_spawn (&next, argv);
  remove_tree (next.folder);
  g_free (next.folder);
  next.folder = g_strdup (f->folder);
  g_autofree char *noise = worker_read_magic (next.out);
  worker_connect (&next);
  worker_start (&next, 0, TRUE, TRUE, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (worker_state_is (&next, "paused"));
  CALL (&next, step_batch);
  WAIT_UNTIL (next.points == 1);
  g_assert_cmpint (next.last_step, >, seen);
  worker_tear_down (&next, NULL);
}

static gint64
resident_kib (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)pid);
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return g_ascii_strtoll (strstr (text, "VmRSS:") + strlen ("VmRSS:"), NULL, 10);
}

static gint64
events_length (Fixture *f)
{
  g_autofree char *path = g_build_filename (f->folder, "run", "events.jsonl", NULL);
  GStatBuf st;

  g_assert_cmpint (g_stat (path, &st), ==, 0);
  return st.st_size;
}

/* A stopped Studio: a client that starts a long run and then stops. It is this program again, in a separate process,
 * because a forked one would have lost GDBus's thread. */
static int
be_client (const char *in, const char *out, const char *folder)
{
  Fixture f = { .in = atoi (in), .out = atoi (out), .states = g_string_new (NULL) };

  f.folder = g_strdup (folder);
  worker_connect (&f);
  worker_load (&f, worker_graph, 0);
  worker_start_ok (&f, 200000, FALSE);
  WAIT_UNTIL (f.last_step > 10);
  raise (SIGSTOP);
  return 0;
}

static void
test_stalled_client (Fixture *f, gconstpointer data)
{
  g_autofree char *program = worker_program ();
  const char *argv[] = { program, "worker", NULL };
  int status;

  worker_spawn (f, argv);
  g_autofree char *noise = worker_read_magic (f->out);
  g_autofree char *in = g_strdup_printf ("%d", f->in), *out = g_strdup_printf ("%d", f->out);
  pid_t client = fork ();
  if (client == 0)
    {
      fcntl (f->in, F_SETFD, 0);
      fcntl (f->out, F_SETFD, 0);
      execl ("/proc/self/exe", "test-worker", "--client", in, out, f->folder, NULL);
      _exit (127);
    }
  close (f->in);
  close (f->out);
  g_assert_cmpint (waitpid (client, &status, WUNTRACED), ==, client);
  g_assert_true (WIFSTOPPED (status));

  /* The first second fills all bounded buffers: the pipe, the batch in flight, the pending points. */
  g_usleep (1500000);
  gint64 early = resident_kib (f->pid), early_length = events_length (f);
  g_usleep (3000000);
  gint64 late = resident_kib (f->pid);
  g_test_message ("resident: %" G_GINT64_FORMAT " KiB, later %" G_GINT64_FORMAT " KiB", early, late);
  /* Without the bound it grows by 100 MiB in this time; the limit allows for a sanitizer's own memory. */
  g_assert_cmpint (late - early, <, 24 * 1024);
  g_assert_cmpint (events_length (f), >, early_length); /* it trains on */

  kill (client, SIGKILL);
  waitpid (client, &status, 0);
  status = worker_reap (f);
  g_assert_true (WIFEXITED (status));
}

/* A library that prints before main() writes into the pipe, one that prints later does not. */
static void
test_stray_prints (Fixture *f, gconstpointer data)
{
  g_autofree char *program = worker_program ();
  g_autofree char *script = g_strdup_printf ("echo stray; exec '%s' worker", program);
  const char *argv[] = { "/bin/sh", "-c", script, NULL };

  /* oneDNN prints a line for each primitive it runs: to standard output. */
  g_setenv ("DNNL_VERBOSE", "1", TRUE);
  worker_spawn (f, argv);
  g_unsetenv ("DNNL_VERBOSE");
  g_autofree char *noise = worker_read_magic (f->out);
  g_assert_true (g_str_has_prefix (noise, "stray\n"));
  worker_connect (f);
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 2, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  g_assert_false (f->closed);
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
  if (argc == 5 && g_str_equal (argv[1], "--client"))
    return be_client (argv[2], argv[3], argv[4]);
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/whole-run", Fixture, NULL, worker_set_up, test_whole_run, worker_tear_down);
  g_test_add ("/worker/faults", Fixture, NULL, worker_set_up, test_faults, worker_tear_down);
  g_test_add ("/worker/commands", Fixture, NULL, worker_set_up, test_commands, worker_tear_down);
  g_test_add ("/worker/travel", Fixture, NULL, worker_set_up, test_travel, worker_tear_down);
  g_test_add ("/worker/step", Fixture, NULL, worker_set_up, test_step, worker_tear_down);
  g_test_add ("/worker/compute", Fixture, NULL, worker_set_up, test_compute, worker_tear_down);
  g_test_add ("/worker/breakpoint", Fixture, NULL, worker_set_up, test_breakpoint, worker_tear_down);
  g_test_add ("/worker/phase", Fixture, NULL, worker_set_up, test_phase, worker_tear_down);
  g_test_add ("/worker/words", Fixture, NULL, worker_set_up, test_words, worker_tear_down);
  g_test_add ("/worker/parts", Fixture, NULL, worker_set_up, test_parts, worker_tear_down);
  g_test_add ("/worker/gradients", Fixture, NULL, worker_set_up, test_gradients, worker_tear_down);
  g_test_add ("/worker/pace", Fixture, NULL, worker_set_up, test_pace, worker_tear_down);
  g_test_add ("/worker/early-pause", Fixture, NULL, worker_set_up, test_early_pause, worker_tear_down);
  g_test_add ("/worker/evaluate", Fixture, NULL, worker_set_up, test_evaluate, worker_tear_down);
  g_test_add ("/worker/generate-refused", Fixture, NULL, worker_set_up, test_generate_refused, worker_tear_down);
  g_test_add ("/worker/options", Fixture, NULL, worker_set_up, test_options, worker_tear_down);
  g_test_add ("/worker/many-metrics", Fixture, NULL, worker_set_up, test_many_metrics, worker_tear_down);
  g_test_add ("/worker/note", Fixture, NULL, worker_set_up, test_note, worker_tear_down);
  g_test_add ("/worker/predict", Fixture, NULL, worker_set_up, test_predict, worker_tear_down);
  g_test_add ("/worker/nan", Fixture, NULL, worker_set_up, test_nan, worker_tear_down);
  g_test_add ("/worker/end-of-input", Fixture, NULL, worker_set_up, test_end_of_input, worker_tear_down);
  g_test_add ("/worker/kill", Fixture, NULL, worker_set_up, test_kill, worker_tear_down);
  g_test_add ("/worker/stray-prints", Fixture, NULL, NULL, test_stray_prints, worker_tear_down);
  g_test_add ("/worker/stalled-client", Fixture, NULL, NULL, test_stalled_client, worker_tear_down);
  return g_test_run ();
}
