#include "tests/worker/worker-test.h"

#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/scratch.h"

const char *const worker_graph
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
metrics_cb (LoomBusWorker1 *bus, const char *const *names, GVariant *points, gint64 recent_steps, gpointer data)
{
  Fixture *f = data;
  GVariantIter iter;
  gint64 step, epoch;
  double loss, lr;
  GVariant *metric;

  g_assert_cmpint (recent_steps, >, 0);
  g_variant_iter_init (&iter, points);
  while (g_variant_iter_next (&iter, "(xxdd@ad)", &step, &epoch, &loss, &lr, &metric))
    {
      g_assert_cmpint (step, >, f->last_step);
      g_assert_cmpuint (g_variant_n_children (metric), ==, f->without_metrics ? 0 : 1);
      g_assert_cmpstr (names[0], ==, f->without_metrics ? NULL : "accuracy");
      f->last_step = step;
      f->last_loss = loss;
      f->last_lr = lr;
      f->points++;
      g_variant_unref (metric);
    }
  g_assert_cmpint (recent_steps, <=, f->last_step);
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
  /* The processor's memory is everybody's. */
  g_assert_cmpint (g_variant_lookup (bytes, "total", "t", &parameters), ==, g_str_has_prefix (device, "cuda"));
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

gboolean
worker_timeout_cb (gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_CONTINUE;
}

char *
worker_read_magic (int fd)
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

void
worker_spawn (Fixture *f, const char *const *argv)
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

char *
worker_program (void)
{
  return g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
}

void
worker_connect (Fixture *f)
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

void
worker_set_up (Fixture *f, gconstpointer data)
{
  g_autofree char *program = worker_program ();
  const char *argv[] = { program, "worker", NULL };

  worker_spawn (f, argv);
  g_autofree char *noise = worker_read_magic (f->out);
  g_assert_cmpstr (noise, ==, "");
  worker_connect (f);
}

int
worker_reap (Fixture *f)
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

void
worker_tear_down (Fixture *f, gconstpointer data)
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
      worker_reap (f);
    }
  remove_tree (f->folder);
  g_free (f->folder);
  g_free (f->state);
  g_free (f->message);
  g_free (f->problem);
  g_free (f->failed_node);
  g_string_free (f->states, TRUE);
}

void
worker_load (Fixture *f, const char *xml, guint n_faults)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) faults = NULL;

  loom_bus_worker1_call_load_sync (f->bus, xml, "", &faults, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_variant_n_children (faults), ==, n_faults);
}

void
worker_start (Fixture *f, gint64 epochs, gboolean paused, gboolean resume, GError **error)
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

void
worker_start_ok (Fixture *f, gint64 epochs, gboolean paused)
{
  g_autoptr (GError) error = NULL;
  worker_start (f, epochs, paused, FALSE, &error);
  g_assert_no_error (error);
}

gboolean
worker_state_is (Fixture *f, const char *state)
{
  return g_strcmp0 (f->state, state) == 0;
}
