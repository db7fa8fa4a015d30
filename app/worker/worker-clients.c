/* The clients of a worker, one at a time: the one that has started it, and those that attach later.
 *
 * Without leave to go on, a run ends with its client's connection. With it, the worker listens on the socket of the
 * run's folder, has left the session and the terminal that it was started in, and writes its messages to a log in the
 * folder, because no process reads its standard error any more. */
#include "app/worker/worker.h"

#include "data/loom-worker-magic.h"

#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>


struct _WorkerClients
{
  LoomBusWorker1 *bus;
  WorkerOutbox *outbox;
  WorkerRunner *runner;
  GMainLoop *loop;
  GDBusConnection *connection; /* NULL: no client */
  LoomRunSocket *socket;       /* NULL: the run ends with its client */
  LoomFolder *files;           /* of the run; by its descriptor the folder is found if it was renamed */
  guint accepts;
  gboolean was_kept;   /* a client has left a run that went on */
  gboolean writes_end; /* a client has let it go on, so its end is looked up in its folder */
};

/* ---- one client ------------------------------------------------------- */

static void
forget (WorkerClients *self)
{
  g_signal_handlers_disconnect_by_data (self->connection, self);
  g_dbus_interface_skeleton_unexport_from_connection (G_DBUS_INTERFACE_SKELETON (self->bus), self->connection);
  worker_outbox_connect (self->outbox, NULL);
  g_clear_object (&self->connection);
  self->was_kept = self->socket != NULL;
}

static void
closed_cb (GDBusConnection *connection, gboolean remote, GError *error, WorkerClients *self)
{
  forget (self);
  if (!self->was_kept)
    g_main_loop_quit (self->loop);
}

static gboolean
take (WorkerClients *self, GDBusConnection *connection, GError **error)
{
  g_dbus_connection_set_exit_on_close (connection, FALSE);
  if (!g_dbus_interface_skeleton_export (G_DBUS_INTERFACE_SKELETON (self->bus), connection, LOOM_WORKER_OBJECT, error))
    return FALSE;
  self->connection = g_object_ref (connection);
  self->was_kept = FALSE;
  g_signal_connect (connection, "closed", G_CALLBACK (closed_cb), self);
  g_dbus_connection_start_message_processing (connection);
  return TRUE;
}

gboolean
worker_clients_take (WorkerClients *self, GDBusConnection *connection, GError **error)
{
  return take (self, connection, error);
}

/* TRUE if the client has closed its end, which the thread of D-Bus may not have noticed yet. */
static gboolean
has_left (GDBusConnection *connection)
{
  GIOStream *stream = g_dbus_connection_get_stream (connection);
  GInputStream *input = g_io_stream_get_input_stream (stream);
  struct pollfd end = { .fd = -1 };

  if (G_IS_SOCKET_CONNECTION (stream))
    end.fd = g_socket_get_fd (g_socket_connection_get_socket (G_SOCKET_CONNECTION (stream)));
  else if (G_IS_UNIX_INPUT_STREAM (input))
    end.fd = g_unix_input_stream_get_fd (G_UNIX_INPUT_STREAM (input));
  return g_dbus_connection_is_closed (connection)
         || (end.fd >= 0 && poll (&end, 1, 0) == 1 && (end.revents & (POLLHUP | POLLERR)) != 0);
}

/* ---- the socket --------------------------------------------------------- */

static gboolean
write_line (int fd, const char *line)
{
  /* A new socket has space for a line. */
  return send (fd, line, strlen (line), MSG_NOSIGNAL | MSG_DONTWAIT) == (gssize)strlen (line);
}

/* Consumes fd. */
static void
attach (WorkerClients *self, int fd)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, NULL);
  g_autoptr (GSocketConnection) stream = NULL;
  g_autoptr (GDBusConnection) connection = NULL;

  if (socket == NULL)
    {
      loom_close (fd);
      return;
    }
  if (self->connection != NULL && has_left (self->connection))
    forget (self);
  stream = g_socket_connection_factory_create_connection (socket);
  if (!write_line (fd, self->connection != NULL ? LOOM_WORKER_BUSY : LOOM_WORKER_MAGIC) || self->connection != NULL)
    return;
  connection = g_dbus_connection_new_sync (G_IO_STREAM (stream), NULL, G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING,
                                           NULL, NULL, NULL);
  if (connection != NULL)
    take (self, connection, NULL);
}

static gboolean
accept_cb (int listening, GIOCondition condition, gpointer data)
{
  WorkerClients *self = data;
  int fd;

  while ((fd = loom_run_socket_accept (self->socket)) >= 0)
    attach (self, fd);
  return G_SOURCE_CONTINUE;
}

static void
stop_listening (WorkerClients *self)
{
  g_clear_handle_id (&self->accepts, g_source_remove);
  g_clear_pointer (&self->socket, loom_run_socket_free);
}

/* The folder may be from somebody else, so it is opened as all files in it are. */
static void
redirect_messages (LoomFolder *files)
{
  int log = files != NULL ? loom_folder_open_file (files, LOOM_RUN_LOG, O_WRONLY | O_CREAT | O_APPEND, NULL) : -1;

  if (log < 0)
    log = loom_open (AT_FDCWD, "/dev/null", O_WRONLY);
  if (log < 0)
    return;
  dup2 (log, STDERR_FILENO);
  dup2 (log, STDOUT_FILENO);
  loom_close (log);
}

static gboolean
keep (WorkerClients *self, GError **error)
{
  g_autofree char *folder = worker_runner_dup_folder (self->runner);

  if (!worker_runner_is_active (self->runner))
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_OBJECT, "No run is active.");
      return FALSE;
    }
  if (folder == NULL)
    {
      g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "The run has no folder in which a window could find it.");
      return FALSE;
    }
  self->socket = loom_run_socket_listen (folder, error);
  if (self->socket == NULL)
    return FALSE;
  self->accepts = g_unix_fd_add (loom_run_socket_fd (self->socket), G_IO_IN, accept_cb, self);
  g_clear_pointer (&self->files, loom_folder_free);
  self->files = loom_folder_open (folder, NULL);
  self->writes_end = TRUE;
  redirect_messages (self->files);
  /* A rank of mpirun leads a group of its own already, and has no terminal. */
  setsid ();
  signal (SIGHUP, SIG_IGN);
  return TRUE;
}

/* The path that the run's folder has now. (transfer full) */
static char *
present_folder (const WorkerClients *self, const char *folder)
{
  g_autofree char *link
      = self->files != NULL ? g_strdup_printf ("/proc/self/fd/%d", loom_folder_fd (self->files)) : NULL;
  char *path = link != NULL ? loom_path_link (link) : NULL;

  return path != NULL ? path : g_strdup (folder);
}

/* ---- methods ------------------------------------------------------------ */

static gboolean
keep_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gboolean wanted, WorkerClients *self)
{
  g_autoptr (GError) error = NULL;

  if (!wanted)
    stop_listening (self);
  if (!wanted || self->socket != NULL || keep (self, &error))
    loom_bus_worker1_complete_keep (bus, invocation);
  else
    g_dbus_method_invocation_return_error_literal (
        invocation, G_DBUS_ERROR, error->domain == G_DBUS_ERROR ? error->code : G_DBUS_ERROR_FAILED, error->message);
  return TRUE;
}

static gboolean
describe_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, WorkerClients *self)
{
  g_autofree char *begun = worker_runner_dup_folder (self->runner), *folder = present_folder (self, begun);
  LoomRunIdentity id;
  GVariantBuilder run;

  if (folder == NULL || !worker_runner_is_active (self->runner) || !loom_run_identify (folder, &id))
    {
      g_dbus_method_invocation_return_error (invocation, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "The run has just ended.");
      return TRUE;
    }
  g_variant_builder_init (&run, G_VARIANT_TYPE_VARDICT);
  g_variant_builder_add (&run, "{sv}", "version", g_variant_new_string (LOOM_VERSION));
  g_variant_builder_add (&run, "{sv}", "pid", g_variant_new_int32 (getpid ()));
  g_variant_builder_add (&run, "{sv}", "device", g_variant_new_uint64 (id.device));
  g_variant_builder_add (&run, "{sv}", "inode", g_variant_new_uint64 (id.inode));
  worker_runner_describe (self->runner, &run);
  loom_bus_worker1_complete_describe (bus, invocation, g_variant_builder_end (&run));
  return TRUE;
}

static gboolean
follow_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, WorkerClients *self)
{
  loom_bus_worker1_complete_follow (bus, invocation);
  worker_outbox_connect (self->outbox, self->connection);
  return TRUE;
}

WorkerClients *
worker_clients_new (LoomBusWorker1 *bus, WorkerOutbox *outbox, WorkerRunner *runner, GMainLoop *loop)
{
  WorkerClients *self = g_new0 (WorkerClients, 1);

  *self = (WorkerClients){ .bus = bus, .outbox = outbox, .runner = runner, .loop = loop };
  g_signal_connect (bus, "handle-keep", G_CALLBACK (keep_cb), self);
  g_signal_connect (bus, "handle-describe", G_CALLBACK (describe_cb), self);
  g_signal_connect (bus, "handle-follow", G_CALLBACK (follow_cb), self);
  return self;
}

void
worker_clients_tick (WorkerClients *self)
{
  if (self->connection == NULL && !worker_runner_is_active (self->runner))
    g_main_loop_quit (self->loop);
}

void
worker_clients_free (WorkerClients *self, const char *folder)
{
  g_autofree char *message = NULL, *state = worker_outbox_dup_state (self->outbox, &message);
  g_autofree char *present = present_folder (self, folder);

  if (self->writes_end && state != NULL)
    loom_run_unfinished_end (present,
                             g_str_equal (state, "done")     ? LOOM_RUN_END_DONE
                             : g_str_equal (state, "failed") ? LOOM_RUN_END_FAILED
                                                             : LOOM_RUN_END_STOPPED,
                             message);
  stop_listening (self);
  if (self->connection != NULL)
    g_signal_handlers_disconnect_by_data (self->connection, self);
  g_signal_handlers_disconnect_by_data (self->bus, self);
  g_clear_object (&self->connection);
  g_clear_pointer (&self->files, loom_folder_free);
  g_free (self);
}
