/* `gradloom worker`: descriptors, connection, and the serve thread's loop.
 *
 * Descriptors 0 and 1 carry the connection, and a single print of a library would corrupt it. So both are first moved
 * to other numbers; 0 becomes /dev/null and 1 becomes standard error. The worker lives as long as its connection, or,
 * if it was told so, as its run (worker-clients.c): then the run finishes its step, writes a checkpoint, and the
 * process exits.
 *
 * If Studio trains with several ranks, mpirun starts as many workers. Rank 0 uses a socket to Studio, because mpirun
 * uses descriptors 0 and 1, and the others follow rank 0 (worker-processes.c). */
#include "app/commands.h"
#include "app/worker/worker-evaluate.h"

#include "data/loom-worker-magic.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 100

typedef struct
{
  GMainLoop *loop;
  WorkerOutbox *outbox;
  WorkerClients *clients;
  int status;
} Worker;

static gboolean
take_descriptors (int *in, int *out)
{
  int nothing = open ("/dev/null", O_RDONLY | O_CLOEXEC);

  *in = fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  *out = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (nothing < 0 || *in < 0 || *out < 0 || dup2 (nothing, STDIN_FILENO) < 0 || dup2 (STDERR_FILENO, STDOUT_FILENO) < 0)
    return FALSE;
  close (nothing);
  return TRUE;
}

static gboolean
tick_cb (gpointer data)
{
  Worker *worker = data;

  worker_outbox_send (worker->outbox);
  worker_clients_tick (worker->clients);
  return G_SOURCE_CONTINUE;
}

static gboolean
terminate_cb (gpointer data)
{
  Worker *worker = data;
  worker->status = 128 + SIGTERM;
  g_main_loop_quit (worker->loop);
  return G_SOURCE_CONTINUE;
}

static int
serve (GIOStream *stream)
{
  g_autoptr (LoomBusWorker1) bus = loom_bus_worker1_skeleton_new ();
  g_autoptr (GError) error = NULL;
  Worker worker = { 0 };

  g_autoptr (GDBusConnection) connection
      = g_dbus_connection_new_sync (stream, NULL, G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING, NULL, NULL, &error);
  if (connection == NULL)
    {
      fprintf (stderr, "gradloom worker: %s\n", error->message);
      return 5;
    }
  worker.loop = g_main_loop_new (NULL, FALSE);
  worker.outbox = worker_outbox_new (bus, connection);
  WorkerRunner *runner = worker_runner_new (worker.outbox);
  WorkerEvaluator *evaluator = worker_evaluator_new (bus, runner);
  worker.clients = worker_clients_new (bus, worker.outbox, runner, worker.loop);
  worker_connect_methods (bus, runner);
  worker_outbox_state (worker.outbox, "idle", NULL);
  if (!worker_clients_take (worker.clients, connection, &error))
    {
      fprintf (stderr, "gradloom worker: %s\n", error->message);
      return 5;
    }
  guint tick = g_timeout_add (TICK_MS, tick_cb, &worker);
  g_unix_signal_add (SIGTERM, terminate_cb, &worker);

  g_main_loop_run (worker.loop);

  g_source_remove (tick);
  worker_evaluator_free (evaluator);
  g_autofree char *folder = worker_runner_dup_folder (runner);
  worker_runner_free (runner);
  worker_clients_free (worker.clients, folder);
  /* The client may still receive messages of the run's end from the outbox. */
  while (g_main_context_iteration (NULL, FALSE))
    ;
  worker_outbox_finish (worker.outbox);
  g_main_loop_unref (worker.loop);
  return worker.status;
}

/* Opens the connection to Studio: descriptors 0 and 1, or a socket on which Studio listens. NULL after printing an
 * error. */
static GIOStream *
open_stream (const char *path)
{
  g_autoptr (GInputStream) input = NULL;
  g_autoptr (GOutputStream) output = NULL;
  g_autoptr (GError) error = NULL;
  GIOStream *stream;
  int in, out;

  if (path != NULL)
    {
      g_autoptr (GSocketClient) client = g_socket_client_new ();
      g_autoptr (GSocketAddress) address = g_unix_socket_address_new (path);

      stream = G_IO_STREAM (g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, &error));
    }
  else if (take_descriptors (&in, &out))
    {
      input = g_unix_input_stream_new (in, TRUE);
      output = g_unix_output_stream_new (out, TRUE);
      stream = g_simple_io_stream_new (input, output);
    }
  else
    {
      fprintf (stderr, "gradloom worker: the descriptors of standard input and output cannot be moved: %s.\n",
               strerror (errno));
      return NULL;
    }
  if (stream != NULL
      && g_output_stream_write_all (g_io_stream_get_output_stream (stream), LOOM_WORKER_MAGIC,
                                    strlen (LOOM_WORKER_MAGIC), NULL, NULL, &error))
    return stream;
  fprintf (stderr, "gradloom worker: Studio cannot be reached: %s.\n", error->message);
  g_clear_object (&stream);
  return NULL;
}

static int
run_worker (const Command *command, int argc, char **argv)
{
  g_autofree char *path = NULL;
  gboolean speaks;
  const GOptionEntry entries[]
      = { { "socket", 0, 0, G_OPTION_ARG_FILENAME, &path,
            "Connect to this socket, as the first of the ranks that mpirun has started", "PATH" },
          { NULL } };
  g_autoptr (GError) error = NULL;
  g_autoptr (GIOStream) stream = NULL;
  LoomComm *ranks = NULL;
  int status = 5;

  if (argc > 1 && !command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc > 1)
    return command_usage (command, "It takes no words.");
  signal (SIGPIPE, SIG_IGN);
  signal (SIGINT, SIG_IGN); /* Ctrl-C in Studio's terminal is for Studio */
  if (nice (10) == -1)
    errno = 0; /* a lower priority is optional */
  if (path != NULL && loom_dist_is_rank ())
    ranks = loom_dist_join (&error);
  if (error != NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (ranks != NULL && !loom_dist_check_versions (ranks, 0, &speaks, &error))
    {
      status = speaks ? command_fail (command, g_steal_pointer (&error)) : 0; /* mpirun has the other rank's status */
      ranks->free (ranks);
      return status;
    }
  if (ranks != NULL && ranks->rank > 0)
    return worker_follow (ranks);
  worker_processes_take (ranks);
  stream = open_stream (path);
  if (stream != NULL)
    status = serve (stream);
  worker_processes_exit ();
  return status;
}

const Command command_worker = {
  .name = "worker",
  .arguments = "",
  .summary = "D-Bus on standard input and output, for Studio",
  .run = run_worker,
};
