/* The worker as Studio meets it: spawned, spoken to over its pipes, stopped, stalled, killed.
 *
 * Each test has a worker of its own. Prints of libraries before the magic line and after it, a client that no longer
 * reads, and the end of input are the cases that break such a connection in practice. */
#include <fcntl.h>
#include <gio/gio.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/loom-worker-magic.h"
#include "loom-worker-bus.h"
#include "tests/scratch.h"

#define WAIT_MS 30000

typedef struct
{
  GPid pid;
  int in, out; /* the worker's standard input and output, at our end */
  GDBusConnection *connection;
  LoomBusWorker1 *bus;
  char *folder;
  /* what signals said */
  GString *states;
  char *state, *message, *problem, *failed_node;
  gint64 points, last_step, evals, checkpoints;
  double last_loss, last_lr, base_lr;
  double at_least; /* what the run shall take; 0: not looked at */
  gboolean memory, closed;
} Fixture;

static const char *const GRAPH
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
      "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/>"
      "<node id=\"act\" op=\"relu\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/>"
      "<node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"
      "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"64\" epochs=\"3\" seed=\"1\">"
      "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";

/* ---- signals ---------------------------------------------------------- */

static void
state_cb (LoomBusWorker1 *bus, const char *state, const char *message, gpointer data)
{
  Fixture *f = data;
  g_free (f->state);
  g_free (f->message);
  f->state = g_strdup (state);
  f->message = g_strdup (message);
  g_string_append_printf (f->states, "%s ", state);
}

static void
metrics_cb (LoomBusWorker1 *bus, const char *const *names, GVariant *points, gpointer data)
{
  Fixture *f = data;
  GVariantIter iter;
  gint64 step, epoch;
  double loss, lr;
  GVariant *metric;

  g_variant_iter_init (&iter, points);
  while (g_variant_iter_next (&iter, "(xxdd@ad)", &step, &epoch, &loss, &lr, &metric))
    {
      g_assert_cmpint (step, >, f->last_step);
      g_assert_cmpuint (g_variant_n_children (metric), ==, 1);
      g_assert_cmpstr (names[0], ==, "accuracy");
      f->last_step = step;
      f->last_loss = loss;
      f->last_lr = lr;
      f->points++;
      g_variant_unref (metric);
    }
}

static void
evaluated_cb (LoomBusWorker1 *bus, const char *split, gint64 step, gint64 epoch, double loss, const char *const *names,
              GVariant *values, gpointer data)
{
  g_assert_cmpstr (split, ==, "test");
  ((Fixture *)data)->evals++;
}

static void
memory_cb (LoomBusWorker1 *bus, const char *device, GVariant *bytes, gpointer data)
{
  guint64 parameters = 0;
  g_assert_true (g_variant_lookup (bytes, "parameters", "t", &parameters));
  g_assert_cmpuint (parameters, >, 0);
  g_assert_false (g_variant_lookup (bytes, "total", "t", &parameters)); /* the processor's memory is everybody's */
  ((Fixture *)data)->memory = TRUE;
}

/* However fast the steps themselves are, a stretched run has so much left, and its rate is that of the stretch. */
static void
progress_cb (LoomBusWorker1 *bus, gint64 step, gint64 total, gint64 epoch, gint64 epochs, double items_per_second,
             double eta, gpointer data)
{
  Fixture *f = data;
  if (f->at_least <= 0)
    return;
  double left = f->at_least * (double)(total - step) / (double)total;
  g_assert_cmpfloat (eta, >=, left * (1 - 1e-9));
  g_assert_cmpfloat (items_per_second * eta, <=, 1024.0 * 3);
}

static void
hyper_cb (LoomBusWorker1 *bus, const char *name, double value, gpointer data)
{
  g_assert_cmpstr (name, ==, "lr");
  ((Fixture *)data)->base_lr = value;
}

static void
problem_cb (LoomBusWorker1 *bus, const char *code, const char *node, const char *port, const char *message,
            gpointer data)
{
  Fixture *f = data;
  g_free (f->problem);
  f->problem = g_strdup_printf ("%s: %s", code, message);
  g_free (f->failed_node);
  f->failed_node = g_strdup (node);
}

static void
checkpoint_cb (LoomBusWorker1 *bus, gint64 step, const char *path, gpointer data)
{
  ((Fixture *)data)->checkpoints++;
}

static void
closed_cb (GDBusConnection *connection, gboolean remote, GError *error, gpointer data)
{
  ((Fixture *)data)->closed = TRUE;
}

/* ---- a worker --------------------------------------------------------- */

static gboolean
timeout_cb (gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_CONTINUE;
}

/* Turns the main loop until the condition holds. */
#define WAIT_UNTIL(condition)                                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    gboolean late_ = FALSE;                                                                                            \
    guint id_ = g_timeout_add (WAIT_MS, timeout_cb, &late_);                                                           \
    while (!(condition) && !late_)                                                                                     \
      g_main_context_iteration (NULL, TRUE);                                                                           \
    g_source_remove (id_);                                                                                             \
    if (!(condition))                                                                                                  \
      g_error ("waited in vain for %s", #condition);                                                                   \
  }                                                                                                                    \
  G_STMT_END

/* Reads up to the magic line and returns what stood before it. */
static char *
read_magic (int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char c;

  while (text->len < LOOM_WORKER_MAX_NOISE)
    {
      ssize_t n = read (fd, &c, 1);
      g_assert_cmpint (n, ==, 1);
      g_string_append_c (text, c);
      if (g_str_has_suffix (text->str, LOOM_WORKER_MAGIC))
        return g_strndup (text->str, text->len - strlen (LOOM_WORKER_MAGIC));
    }
  g_error ("no magic line in %s", text->str);
}

static void
spawn (Fixture *f, const char *const *argv)
{
  g_autoptr (GError) error = NULL;

  g_spawn_async_with_pipes (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &f->pid, &f->in, &f->out,
                            NULL, &error);
  g_assert_no_error (error);
  fcntl (f->in, F_SETFD, FD_CLOEXEC);
  fcntl (f->out, F_SETFD, FD_CLOEXEC);
  f->states = g_string_new (NULL);
  f->folder = g_dir_make_tmp ("gradloom-worker-XXXXXX", &error);
  g_assert_no_error (error);
}

static char *
program_path (void)
{
  return g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
}

static void
connect_bus (Fixture *f)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GInputStream) input = g_unix_input_stream_new (f->out, TRUE);
  g_autoptr (GOutputStream) output = g_unix_output_stream_new (f->in, TRUE);
  g_autoptr (GIOStream) stream = g_simple_io_stream_new (input, output);

  f->connection
      = g_dbus_connection_new_sync (stream, NULL, G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING, NULL, NULL, &error);
  g_assert_no_error (error);
  g_signal_connect (f->connection, "closed", G_CALLBACK (closed_cb), f);
  f->bus = loom_bus_worker1_proxy_new_sync (
      f->connection, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START, NULL,
      LOOM_WORKER_OBJECT, NULL, &error);
  g_assert_no_error (error);
  g_signal_connect (f->bus, "state-changed", G_CALLBACK (state_cb), f);
  g_signal_connect (f->bus, "metrics", G_CALLBACK (metrics_cb), f);
  g_signal_connect (f->bus, "evaluated", G_CALLBACK (evaluated_cb), f);
  g_signal_connect (f->bus, "memory", G_CALLBACK (memory_cb), f);
  g_signal_connect (f->bus, "progress", G_CALLBACK (progress_cb), f);
  g_signal_connect (f->bus, "hyper", G_CALLBACK (hyper_cb), f);
  g_signal_connect (f->bus, "problem", G_CALLBACK (problem_cb), f);
  g_signal_connect (f->bus, "checkpoint-written", G_CALLBACK (checkpoint_cb), f);
  g_dbus_connection_start_message_processing (f->connection);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autofree char *program = program_path ();
  const char *argv[] = { program, "worker", NULL };

  spawn (f, argv);
  g_autofree char *noise = read_magic (f->out);
  g_assert_cmpstr (noise, ==, "");
  connect_bus (f);
}

static int
reap (Fixture *f)
{
  int status = 0;

  for (int i = 0; i < WAIT_MS / 10 && f->pid; i++)
    {
      if (waitpid (f->pid, &status, WNOHANG) == f->pid)
        {
          f->pid = 0;
          return status;
        }
      g_usleep (10000);
    }
  g_error ("the worker does not end");
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  if (f->bus != NULL)
    g_signal_handlers_disconnect_by_data (f->bus, f);
  if (f->connection != NULL)
    g_signal_handlers_disconnect_by_data (f->connection, f);
  g_clear_object (&f->bus);
  if (f->connection != NULL)
    g_dbus_connection_close_sync (f->connection, NULL, NULL);
  g_clear_object (&f->connection);
  if (f->pid)
    {
      kill (f->pid, SIGKILL);
      reap (f);
    }
  remove_tree (f->folder);
  g_free (f->folder);
  g_free (f->state);
  g_free (f->message);
  g_free (f->problem);
  g_free (f->failed_node);
  g_string_free (f->states, TRUE);
}

static void
load (Fixture *f, const char *xml, guint n_faults)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) faults = NULL;

  loom_bus_worker1_call_load_sync (f->bus, xml, "", &faults, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (faults), ==, n_faults);
}

static void
start (Fixture *f, gint64 epochs, gboolean paused, gboolean resume, GError **error)
{
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE ("a{sv}"));
  if (epochs)
    g_variant_builder_add (&b, "{sv}", "epochs", g_variant_new_int64 (epochs));
  g_variant_builder_add (&b, "{sv}", "paused", g_variant_new_boolean (paused));
  g_autofree char *run = g_build_filename (f->folder, "run", NULL);
  g_variant_builder_add (&b, "{sv}", resume ? "resume" : "out", g_variant_new_string (run));
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, error);
}

static void
start_ok (Fixture *f, gint64 epochs, gboolean paused)
{
  g_autoptr (GError) error = NULL;
  start (f, epochs, paused, FALSE, &error);
  g_assert_no_error (error);
}

#define CALL(f, method, ...)                                                                                           \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autoptr (GError) error_ = NULL;                                                                                  \
    loom_bus_worker1_call_##method##_sync ((f)->bus, ##__VA_ARGS__, NULL, &error_);                                    \
    g_assert_no_error (error_);                                                                                        \
  }                                                                                                                    \
  G_STMT_END

static gboolean
state_is (Fixture *f, const char *state)
{
  return g_strcmp0 (f->state, state) == 0;
}

/* ---- tests ------------------------------------------------------------ */

static void
test_whole_run (Fixture *f, gconstpointer data)
{
  load (f, GRAPH, 0);
  start_ok (f, 0, FALSE);
  WAIT_UNTIL (state_is (f, "done"));
  g_assert_nonnull (strstr (f->states->str, "preparing running done"));
  g_assert_cmpint (f->points, ==, 48);
  g_assert_cmpint (f->last_step, ==, 48);
  g_assert_cmpint (f->evals, ==, 3);
  g_assert_true (f->memory);
  g_assert_cmpint (f->checkpoints, >, 0);
  g_autofree char *weights = g_build_filename (f->folder, "run", "weights.safetensors", NULL);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));

  /* The same folder is refused, in a sentence, and the worker lives on. */
  start_ok (f, 0, FALSE);
  WAIT_UNTIL (state_is (f, "failed"));
  g_assert_nonnull (strstr (f->problem, "already holds a run"));
}

static void
test_faults (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  load (f, "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"liner\"/></graph>", 1);
  load (f, "no graph at all", 1);
  start (f, 0, FALSE, FALSE, &error);
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

  load (f, GRAPH, 0);
  start_ok (f, 1000000, TRUE);
  WAIT_UNTIL (state_is (f, "paused"));
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
  g_assert_cmpint (snapshot (f, "hidden.weight", 4096, shape, &rank, &full, &bytes, &after), ==, 2);
  g_assert_true (before != after);

  /* Downsampled to what was asked for, and never more. */
  g_assert_cmpint (snapshot (f, "act", 64, shape, &rank, &full, &bytes, NULL), ==, 2);
  g_assert_cmpint (full, ==, 32 * 16);
  g_assert_cmpuint (bytes, <=, 64);
  g_assert_cmpuint (bytes, ==, shape[0] * shape[1] * 4);
  snapshot (f, "loss", 64, shape, &rank, &full, &bytes, NULL);
  g_assert_cmpuint (rank, ==, 0);
  snapshot (f, "grad:hidden.weight", 4096, shape, &rank, &full, &bytes, NULL);
  g_assert_cmpuint (bytes, ==, 16 * 2 * 4);

  CALL (f, set_hyper, "lr", 0.5);
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
  g_assert_true (state_is (f, "running"));
  CALL (f, pause);
  WAIT_UNTIL (state_is (f, "paused"));
  CALL (f, stop);
  WAIT_UNTIL (state_is (f, "stopped"));
  /* A view can still be filled when the run is over. */
  snapshot (f, "scores", 4096, shape, &rank, &full, &bytes, NULL);
  g_assert_cmpint (full, ==, 64);

  /* Changed values are in force where the checkpoint is resumed, and reported. */
  g_assert_cmpfloat (f->base_lr, ==, 0.01);
  g_clear_error (&error);
  start (f, 100000, TRUE, TRUE, &error);
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

/* The words at a port, with commas behind them; NULL with an error. */
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

/* What rows and columns of a map stand for: the first test sample, whatever the run does; and ports without words. */
/* The text of the newest trace. (transfer full) */
/* A snapshot that is text. */
static char *
read_text (Fixture *f, const char *port)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) dims = NULL, full = NULL, bytes = NULL;
  gint64 step;
  gsize n;

  loom_bus_worker1_call_get_snapshot_sync (f->bus, port, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0), 1 << 20,
                                           &step, &dims, &full, &bytes, NULL, &error);
  g_assert_no_error (error);
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
  g_autoptr (GError) error = NULL;
  GVariantBuilder b;
  g_autofree char *before = NULL, *after = NULL, *none = NULL, *losses = NULL, *memory = NULL, *later = NULL;

  load (f, GRAPH, 0);
  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&b, "{sv}", "ranks", g_variant_new_int32 (2));
  g_variant_builder_add (&b, "{sv}", "epochs", g_variant_new_int64 (2));
  g_variant_builder_add (&b, "{sv}", "paused", g_variant_new_boolean (TRUE));
  loom_bus_worker1_call_start_sync (f->bus, g_variant_builder_end (&b), NULL, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (state_is (f, "paused"));
  before = read_text (f, "trace:");
  g_assert_cmpstr (before, ==, "{\"traceEvents\":[]}");
  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 1);
  after = read_text (f, "trace:");
  g_assert_nonnull (strstr (after, "rank 1"));
  g_assert_nonnull (strstr (after, "\"cat\":\"exchange\""));
  g_assert_nonnull (strstr (after, "\"node\":\"hidden\""));
  /* What is asked for is told of the next steps, once each. */
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
  CALL (f, resume);
  WAIT_UNTIL (state_is (f, "done"));
  /* 1,024 samples in batches of 2 × 64. */
  g_assert_cmpint (f->last_step, ==, 16);
}

static void
test_words (Fixture *f, gconstpointer data)
{
  static const char *const without[] = { "e", "nothing.x" };
  g_autoptr (GError) error = NULL;
  g_autofree char *read = NULL, *said = NULL, *expected = NULL;

  load (f, SEQUENCES, 0);
  start_ok (f, 1, TRUE);
  WAIT_UNTIL (state_is (f, "paused"));
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

/* A run that is stretched takes so long, makes its points all along, and ends with the same numbers. */
static void
test_pace (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  load (f, GRAPH, 0);
  start_paced (f, "fast", 3, 0);
  WAIT_UNTIL (state_is (f, "done"));
  double loss = f->last_loss;

  f->at_least = 2;
  start_paced (f, "slow", 3, 2);
  WAIT_UNTIL (state_is (f, "running"));
  gint64 begin = g_get_monotonic_time ();
  WAIT_UNTIL (f->last_step >= 12);
  g_assert_cmpint (f->last_step, <, 40);
  WAIT_UNTIL (state_is (f, "done"));
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
  WAIT_UNTIL (state_is (f, "paused"));
  g_test_message ("paused after %.0f ms", (g_get_monotonic_time () - begin) / 1e3);
  CALL (f, resume);
  WAIT_UNTIL (state_is (f, "running"));
  gint64 step = f->last_step;
  begin = g_get_monotonic_time ();
  WAIT_UNTIL (f->last_step >= step + 10);
  g_assert_cmpfloat ((g_get_monotonic_time () - begin) / 1e6, >, 0.3);
  CALL (f, set_pace, 0);
  WAIT_UNTIL (state_is (f, "done"));
  loom_bus_worker1_call_set_pace_sync (f->bus, 1, NULL, &error);
  g_assert_nonnull (error);
}

/* Requests during a run's preparation hold from its first step on. */
static void
test_early_pause (Fixture *f, gconstpointer data)
{
  load (f, GRAPH, 0);
  start_ok (f, 1000, FALSE);
  CALL (f, pause);
  WAIT_UNTIL (state_is (f, "paused"));
  gint64 step = f->last_step;
  g_assert_cmpint (step, <, 16000);
  CALL (f, step_batch);
  WAIT_UNTIL (f->last_step == step + 1);
  CALL (f, stop);
  WAIT_UNTIL (state_is (f, "stopped"));
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
  load (f, GRAPH, 0);
  refuse_option (f, "epochs", g_variant_new_int32 (3));
  refuse_option (f, "lr", g_variant_new_string ("0.1"));
  refuse_option (f, "epoch", g_variant_new_int64 (3));
  refuse_option (f, "at_least", g_variant_new_double (-1));
  refuse_option (f, "at_least", g_variant_new_double (NAN));
  start_ok (f, 1, FALSE);
  WAIT_UNTIL (state_is (f, "done"));
}

/* More metrics than a signal carries are refused with their number, not cut off. */
static void
test_many_metrics (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) xml = g_string_new (GRAPH);
  g_autoptr (GString) metrics = g_string_new (NULL);

  for (int i = 0; i < 20; i++)
    g_string_append_printf (metrics, "<metric name=\"m%d\" type=\"accuracy\" input=\"scores\" target=\"data.y\"/>", i);
  char *end = strstr (xml->str, "</train>");
  g_string_insert (xml, end - xml->str, metrics->str);
  load (f, xml->str, 0);
  start_ok (f, 1, FALSE);
  WAIT_UNTIL (state_is (f, "failed"));
  g_assert_nonnull (strstr (f->problem, "21 metrics"));
}

/* Notes about training, which are no faults, reach every client. */
static void
test_note (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) xml = g_string_new (GRAPH);

  g_string_replace (xml, "source=\"spirals\"", "source=\"spirals\" n=\"33\"", 1);
  g_string_replace (xml, "batch_size=\"64\"", "batch_size=\"32\"", 1);
  g_string_replace (xml, "op=\"relu\"", "op=\"batch_norm1d\"", 1);
  load (f, xml->str, 0);
  start_ok (f, 2, FALSE);
  WAIT_UNTIL (state_is (f, "done"));
  g_assert_nonnull (f->problem);
  g_assert_true (g_str_has_prefix (f->problem, "NOTE: "));
  g_assert_nonnull (strstr (f->problem, "batch"));
}

static void
test_nan (Fixture *f, gconstpointer data)
{
  load (f, GRAPH, 0);
  start_ok (f, 1000, TRUE);
  WAIT_UNTIL (state_is (f, "paused"));
  CALL (f, set_hyper, "lr", 1e38);
  CALL (f, resume);
  WAIT_UNTIL (state_is (f, "failed"));
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
  g_autofree char *program = program_path (), *run = g_build_filename (f->folder, "run", NULL);
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
      g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, data, bytes, 1), NULL, NULL, NULL, NULL, NULL, NULL, NULL,
      &error));
  g_assert_nonnull (error);
}

/* A grid of points gets the answers that the command line gives, at the step of the run's end; what is no batch of
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
  load (f, GRAPH, 0);
  start_ok (f, 3, FALSE);
  WAIT_UNTIL (state_is (f, "done"));
  loom_bus_worker1_call_predict_sync (f->bus, g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dim, 2, sizeof (gint64)),
                                      g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, points, sizeof points, 1), &step,
                                      &epoch, &seconds, &kind, &shape, &bytes, NULL, &error);
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

/* Studio went away: the run finishes its step, writes a checkpoint, and the process ends by itself. */
static void
test_end_of_input (Fixture *f, gconstpointer data)
{
  load (f, GRAPH, 0);
  start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (f->last_step > 10);
  g_dbus_connection_close_sync (f->connection, NULL, NULL);
  int status = reap (f);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_autofree char *weights = g_build_filename (f->folder, "run", "weights.safetensors", NULL);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
}

/* A killed worker is noticed at once, and another one goes on where it was. */
static void
test_kill (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  g_autofree char *program = program_path ();
  const char *argv[] = { program, "worker", NULL };
  Fixture next = { 0 };

  load (f, GRAPH, 0);
  start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (f->last_step > 10);
  CALL (f, checkpoint, &path);
  gint64 seen = g_ascii_strtoll (strrchr (path, '/') + 1, NULL, 10);
  kill (f->pid, SIGKILL);
  WAIT_UNTIL (f->closed);
  reap (f);

  spawn (&next, argv);
  remove_tree (next.folder);
  g_free (next.folder);
  next.folder = g_strdup (f->folder);
  g_autofree char *noise = read_magic (next.out);
  connect_bus (&next);
  start (&next, 0, TRUE, TRUE, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (state_is (&next, "paused"));
  CALL (&next, step_batch);
  WAIT_UNTIL (next.points == 1);
  g_assert_cmpint (next.last_step, >, seen);
  tear_down (&next, NULL);
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

/* A stopped Studio: a client that asked for a long run and then stands still. It is this program again,
 * in a process of its own, because a forked one would have lost GDBus's thread. */
static int
be_client (const char *in, const char *out, const char *folder)
{
  Fixture f = { .in = atoi (in), .out = atoi (out), .states = g_string_new (NULL) };

  f.folder = g_strdup (folder);
  connect_bus (&f);
  load (&f, GRAPH, 0);
  start_ok (&f, 200000, FALSE);
  WAIT_UNTIL (f.last_step > 10);
  raise (SIGSTOP);
  return 0;
}

static void
test_stalled_client (Fixture *f, gconstpointer data)
{
  g_autofree char *program = program_path ();
  const char *argv[] = { program, "worker", NULL };
  int status;

  spawn (f, argv);
  g_autofree char *noise = read_magic (f->out);
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

  /* The first second fills what is bounded: the pipe, the batch in flight, the points that wait. */
  g_usleep (1500000);
  gint64 early = resident_kib (f->pid), early_length = events_length (f);
  g_usleep (3000000);
  gint64 late = resident_kib (f->pid);
  g_test_message ("resident: %" G_GINT64_FORMAT " KiB, later %" G_GINT64_FORMAT " KiB", early, late);
  /* Without the bound it grows by 100 MiB in this time; a sanitizer's own books take some of what is allowed here. */
  g_assert_cmpint (late - early, <, 24 * 1024);
  g_assert_cmpint (events_length (f), >, early_length); /* it trains on */

  kill (client, SIGKILL);
  waitpid (client, &status, 0);
  status = reap (f);
  g_assert_true (WIFEXITED (status));
}

/* A library that prints before main() does so into the pipe, one that prints later does not. */
static void
test_stray_prints (Fixture *f, gconstpointer data)
{
  g_autofree char *program = program_path ();
  g_autofree char *script = g_strdup_printf ("echo stray; exec '%s' worker", program);
  const char *argv[] = { "/bin/sh", "-c", script, NULL };

  /* oneDNN prints a line for each primitive it runs: to standard output. */
  g_setenv ("DNNL_VERBOSE", "1", TRUE);
  spawn (f, argv);
  g_unsetenv ("DNNL_VERBOSE");
  g_autofree char *noise = read_magic (f->out);
  g_assert_true (g_str_has_prefix (noise, "stray\n"));
  connect_bus (f);
  load (f, GRAPH, 0);
  start_ok (f, 2, FALSE);
  WAIT_UNTIL (state_is (f, "done"));
  g_assert_false (f->closed);
}

int
main (int argc, char **argv)
{
  if (argc == 5 && g_str_equal (argv[1], "--client"))
    return be_client (argv[2], argv[3], argv[4]);
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/whole-run", Fixture, NULL, set_up, test_whole_run, tear_down);
  g_test_add ("/worker/faults", Fixture, NULL, set_up, test_faults, tear_down);
  g_test_add ("/worker/commands", Fixture, NULL, set_up, test_commands, tear_down);
  g_test_add ("/worker/ranks", Fixture, NULL, set_up, test_ranks, tear_down);
  g_test_add ("/worker/words", Fixture, NULL, set_up, test_words, tear_down);
  g_test_add ("/worker/pace", Fixture, NULL, set_up, test_pace, tear_down);
  g_test_add ("/worker/early-pause", Fixture, NULL, set_up, test_early_pause, tear_down);
  g_test_add ("/worker/options", Fixture, NULL, set_up, test_options, tear_down);
  g_test_add ("/worker/many-metrics", Fixture, NULL, set_up, test_many_metrics, tear_down);
  g_test_add ("/worker/note", Fixture, NULL, set_up, test_note, tear_down);
  g_test_add ("/worker/predict", Fixture, NULL, set_up, test_predict, tear_down);
  g_test_add ("/worker/nan", Fixture, NULL, set_up, test_nan, tear_down);
  g_test_add ("/worker/end-of-input", Fixture, NULL, set_up, test_end_of_input, tear_down);
  g_test_add ("/worker/kill", Fixture, NULL, set_up, test_kill, tear_down);
  g_test_add ("/worker/stray-prints", Fixture, NULL, NULL, test_stray_prints, tear_down);
  g_test_add ("/worker/stalled-client", Fixture, NULL, NULL, test_stalled_client, tear_down);
  return g_test_run ();
}
