/* The outbox, for a run that makes points faster than they are sent: what a reader of the curve must still receive. And
 * the pace of a run. This thread is the serve thread, which runs when the test decides, as on a very busy machine. */
#include "app/worker/worker.h"
#include "tests/test-program.h"

#include "data/loom-worker-magic.h"

#include <string.h>
#include <sys/socket.h>

typedef struct
{
  GDBusConnection *near, *far;
  LoomBusWorker1 *skeleton, *proxy;
  WorkerOutbox *outbox;
  gint64 points, last, widest, progress, total, evals, problems;
  double waited; /* for data, from the newest signal */
  gboolean done;
} Fixture;

static void
metrics_cb (LoomBusWorker1 *bus, const char *const *names, GVariant *points, gint64 recent_steps, Fixture *f)
{
  GVariantIter iter;
  gint64 step;

  g_assert_false (f->done);
  g_variant_iter_init (&iter, points);
  while (g_variant_iter_next (&iter, "(xxddad)", &step, NULL, NULL, NULL, NULL))
    {
      g_assert_cmpint (step, >, f->last);
      f->widest = MAX (f->widest, step - f->last);
      f->last = step;
      f->points++;
    }
  g_assert_cmpint (recent_steps, ==, f->last % 7 + 1); /* of the newest point, also if points were thinned out */
}

static void
progress_cb (LoomBusWorker1 *bus, gint64 step, gint64 total, gint64 epoch, gint64 epochs, double items, double eta,
             Fixture *f)
{
  g_assert_false (f->done);
  f->progress = step;
  f->total = total;
}

static void
waits_cb (LoomBusWorker1 *bus, double data, double compute, double rest, guint threads, Fixture *f)
{
  g_assert_false (f->done);
  g_assert_cmpfloat (compute, ==, 0.5);
  g_assert_cmpfloat (rest, ==, 0.125);
  g_assert_cmpuint (threads, ==, 2);
  f->waited = data;
}

static void
evaluated_cb (LoomBusWorker1 *bus, const char *split, gint64 step, gint64 epoch, double loss, const char *const *names,
              GVariant *values, Fixture *f)
{
  g_assert_false (f->done);
  f->evals++;
}

static void
problem_cb (LoomBusWorker1 *bus, const char *code, const char *node, const char *port, const char *sentence, Fixture *f)
{
  f->problems++;
}

static void
state_cb (LoomBusWorker1 *bus, const char *state, const char *message, Fixture *f)
{
  f->done = g_str_equal (state, "done");
}

static GDBusConnection *
end_of (int fd)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, &error);
  g_assert_no_error (error);
  g_autoptr (GSocketConnection) stream = g_socket_connection_factory_create_connection (socket);
  GDBusConnection *connection
      = g_dbus_connection_new_sync (G_IO_STREAM (stream), NULL, G_DBUS_CONNECTION_FLAGS_NONE, NULL, NULL, &error);
  g_assert_no_error (error);
  g_dbus_connection_set_exit_on_close (connection, FALSE);
  return connection;
}

static void
set_up (Fixture *f, gconstpointer data)
{
  static const char *const names[] = { "accuracy" };
  g_autoptr (GError) error = NULL;
  int fd[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), ==, 0);
  f->near = end_of (fd[0]);
  f->far = end_of (fd[1]);
  f->skeleton = loom_bus_worker1_skeleton_new ();
  g_dbus_interface_skeleton_export (G_DBUS_INTERFACE_SKELETON (f->skeleton), f->near, LOOM_WORKER_OBJECT, &error);
  g_assert_no_error (error);
  f->proxy = loom_bus_worker1_proxy_new_sync (
      f->far, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START, NULL,
      LOOM_WORKER_OBJECT, NULL, &error);
  g_assert_no_error (error);
  g_signal_connect (f->proxy, "metrics", G_CALLBACK (metrics_cb), f);
  g_signal_connect (f->proxy, "progress", G_CALLBACK (progress_cb), f);
  g_signal_connect (f->proxy, "waits", G_CALLBACK (waits_cb), f);
  g_signal_connect (f->proxy, "evaluated", G_CALLBACK (evaluated_cb), f);
  g_signal_connect (f->proxy, "problem", G_CALLBACK (problem_cb), f);
  g_signal_connect (f->proxy, "state-changed", G_CALLBACK (state_cb), f);
  f->outbox = worker_outbox_new (f->skeleton, f->near);
  worker_outbox_begin (f->outbox, names, 1, 1000000, 1);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_dbus_interface_skeleton_unexport (G_DBUS_INTERFACE_SKELETON (f->skeleton));
  g_dbus_connection_close_sync (f->near, NULL, NULL);
  g_dbus_connection_close_sync (f->far, NULL, NULL);
  worker_outbox_free (f->outbox);
  g_object_unref (f->proxy);
  g_object_unref (f->skeleton);
  g_object_unref (f->near);
  g_object_unref (f->far);
}

static void
put (Fixture *f, gint64 from, gint64 to)
{
  for (gint64 step = from; step <= to; step++)
    {
      /* As if the batch size changed at each step. */
      const LoomTrainerStep made
          = { .step = step, .epoch = 1, .recent_steps = step % 7 + 1, .total_steps = 2 * step, .loss = 1, .lr = 0.1 };
      worker_outbox_step (f->outbox, &made);
    }
}

/* Stalls of steps are sent with the points. */
static void
put_waits (Fixture *f)
{
  for (guint i = 1; i <= 2; i++)
    worker_outbox_waits (f->outbox,
                         &(LoomTrainerWaits){ .steps = i, .data = i, .compute = 0.5, .rest = 0.125, .threads = 2 });
}

static void
end_and_listen (Fixture *f, gint64 step)
{
  const double accuracy = 0.9;
  const LoomTrainerEval eval
      = { .split = "test", .step = step, .epoch = 1, .loss = 1, .n_metrics = 1, .metric = &accuracy };
  gint64 deadline = g_get_monotonic_time () + 300 * G_USEC_PER_SEC;

  put_waits (f);
  worker_outbox_eval (f->outbox, &eval);
  worker_outbox_state (f->outbox, "done", NULL);
  while (!f->done && g_get_monotonic_time () < deadline)
    {
      worker_outbox_send (f->outbox);
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_true (f->done);
  g_assert_cmpfloat (f->waited, ==, 2);
  g_assert_cmpint (f->last, ==, step);
  g_assert_cmpint (f->progress, ==, step);
  g_assert_cmpint (f->total, ==, 2 * step);
  g_assert_cmpint (f->evals, ==, 1);
}

/* Far more points than are kept before the first batch is sent: the last one arrives, and there is no gap. */
static void
test_late (Fixture *f, gconstpointer data)
{
  put (f, 1, 100001);
  end_and_listen (f, 100001);
  g_assert_cmpint (f->widest, <=, 1024);
}

/* The batch before is not written: however long, the pending points are bounded and thinned out evenly. */
static void
test_stuck (Fixture *f, gconstpointer data)
{
  put (f, 1, 1);
  worker_outbox_send (f->outbox);
  for (gint64 step = 2; step < 400000; step += 2000)
    {
      put (f, step, step + 1999);
      worker_outbox_send (f->outbox);
    }
  end_and_listen (f, 400001);
  g_assert_cmpint (f->points, <=, 129);
  g_assert_cmpint (f->widest, <=, 4096);
}

/* Points at a low rate all arrive. */
static void
test_whole (Fixture *f, gconstpointer data)
{
  put (f, 1, 120);
  end_and_listen (f, 120);
  g_assert_cmpint (f->points, ==, 120);
}

/* Steps of the evaluations that arrive, the newest last. */
static void
step_evaluated_cb (LoomBusWorker1 *bus, const char *split, gint64 step, gint64 epoch, double loss,
                   const char *const *names, GVariant *values, GArray *steps)
{
  g_array_append_val (steps, step);
}

/* A run whose epochs take less than the time between two batches: evaluations are thinned out evenly in both splits. */
static void
test_evaluations (Fixture *f, gconstpointer data)
{
  static const char *const splits[] = { "val", "test" };
  const gint64 deadline = g_get_monotonic_time () + 300 * G_USEC_PER_SEC;
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (gint64));

  g_signal_connect (f->proxy, "evaluated", G_CALLBACK (step_evaluated_cb), steps);
  for (gint64 step = 1; step <= 1000; step++)
    {
      const LoomTrainerEval eval = { .split = splits[step % 2], .step = step, .epoch = step, .loss = 1 };
      worker_outbox_eval (f->outbox, &eval);
    }
  worker_outbox_state (f->outbox, "done", NULL);
  while (!f->done && g_get_monotonic_time () < deadline)
    {
      worker_outbox_send (f->outbox);
      g_main_context_iteration (NULL, FALSE);
    }
  g_assert_true (f->done);
  g_assert_cmpuint (steps->len, >=, 8);
  g_assert_cmpuint (steps->len, <=, 16);
  g_assert_cmpint (g_array_index (steps, gint64, steps->len - 2), ==, 999);
  g_assert_cmpint (g_array_index (steps, gint64, steps->len - 1), ==, 1000);
  for (guint i = 1; i < steps->len; i++)
    {
      g_assert_cmpint (g_array_index (steps, gint64, i), >, g_array_index (steps, gint64, i - 1));
      g_assert_cmpint (g_array_index (steps, gint64, i) - g_array_index (steps, gint64, i - 1), <=, 256);
    }
}

/* Events that no client has received reach the one that attaches next. */
static void
test_left (Fixture *f, gconstpointer data)
{
  const LoomTrainerEval eval = { .split = "val", .step = 10, .epoch = 1, .loss = 1 };
  const gint64 deadline = g_get_monotonic_time () + 300 * G_USEC_PER_SEC;

  worker_outbox_connect (f->outbox, NULL);
  put (f, 1, 10);
  worker_outbox_eval (f->outbox, &eval);
  worker_outbox_problem (f->outbox, "NOTE", NULL, NULL, "The last batch is short.");
  worker_outbox_connect (f->outbox, f->near);
  while ((f->evals == 0 || f->problems == 0) && g_get_monotonic_time () < deadline)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpint (f->evals, ==, 1);
  g_assert_cmpint (f->problems, ==, 1);
  g_assert_cmpint (f->points, ==, 10);
}

/* A command waits for the next step. Asleep, these steps would take a quarter of an hour. */
static void
test_hurried (void)
{
  WorkerPace pace = { 0 };
  const gint64 begin = g_get_monotonic_time ();

  worker_pace_set (&pace, WORKER_PACE_MAX_SECONDS);
  worker_pace_hurry (&pace, TRUE);
  for (gint64 step = 1; step <= 20000; step++)
    worker_pace_wait (&pace, step, 20000);
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 500 * G_USEC_PER_SEC);
}

static gboolean
has_word (const GByteArray *bytes, const char *word)
{
  const gsize n = strlen (word);

  for (gsize i = 0; i + n <= bytes->len; i++)
    if (memcmp (bytes->data + i, word, n) == 0)
      return TRUE;
  return FALSE;
}

/* A client that reads late: the state that comes while points are being written follows them without a timer. */
static void
test_state_follows (void)
{
  static const char *const names[] = { "accuracy" };
  const gint64 deadline = g_get_monotonic_time () + 300 * G_TIME_SPAN_SECOND;
  g_autoptr (LoomBusWorker1) skeleton = loom_bus_worker1_skeleton_new ();
  g_autoptr (GByteArray) read = g_byte_array_new ();
  g_autoptr (GError) error = NULL;
  const int least = 1;
  Fixture f = { 0 };
  char block[4096];
  int fd[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), ==, 0);
  setsockopt (fd[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
  g_autoptr (GDBusConnection) near = end_of (fd[0]);
  g_dbus_interface_skeleton_export (G_DBUS_INTERFACE_SKELETON (skeleton), near, LOOM_WORKER_OBJECT, &error);
  g_assert_no_error (error);
  f.outbox = worker_outbox_new (skeleton, near);
  worker_outbox_begin (f.outbox, names, 1, 1000000, 1);
  put (&f, 1, 1000);
  worker_outbox_send (f.outbox); /* more than the socket holds */
  worker_outbox_state (f.outbox, "done", NULL);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  while (!has_word (read, "done") && g_get_monotonic_time () < deadline)
    {
      const ssize_t n = recv (fd[1], block, sizeof block, MSG_DONTWAIT);

      g_main_context_iteration (NULL, FALSE);
      if (n > 0)
        g_byte_array_append (read, (const guint8 *)block, (guint)n);
    }
  g_assert_true (has_word (read, "done"));
  g_dbus_interface_skeleton_unexport (G_DBUS_INTERFACE_SKELETON (skeleton));
  g_dbus_connection_close_sync (near, NULL, NULL);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  close (fd[1]);
  worker_outbox_free (f.outbox);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/outbox/state-follows", test_state_follows);
  g_test_add ("/outbox/late", Fixture, NULL, set_up, test_late, tear_down);
  g_test_add ("/outbox/stuck", Fixture, NULL, set_up, test_stuck, tear_down);
  g_test_add ("/outbox/whole", Fixture, NULL, set_up, test_whole, tear_down);
  g_test_add ("/outbox/evaluations", Fixture, NULL, set_up, test_evaluations, tear_down);
  g_test_add ("/outbox/left", Fixture, NULL, set_up, test_left, tear_down);
  g_test_add_func ("/outbox/hurried", test_hurried);
  return g_test_run ();
}
