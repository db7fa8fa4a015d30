/* Spawns a worker process or attaches to one, connects to it over D-Bus and reports its end.
 *
 * Standard error is always drained, because a full pipe would block the worker. Its last
 * line is stored, since a library writes there why it ended the process, unless a rank has already written the
 * reason. */
#include "ui/worker/studio-worker-private.h"

#include <gio/gunixinputstream.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/loom.h"
#include "engine/runs/loom-run-host.h"
#include "engine/dist/loom-dist.h"
#include "engine/infer/loom-run-socket.h"
#include "ui/worker/studio-worker-errors.h"
#include "ui/worker/worker-greeting.h"
#include "ui/worker/worker-socket.h"

/* Milliseconds for a worker to exit after its connection broke, and for its standard error to close after that. */
#define GRACE_MS   1500
#define DRAIN_MS   300
#define MAX_DRAINS 50
/* Milliseconds for a bridge to find out how the run has ended whose messages it carried. */
#define BRIDGE_MS 3000
/* A released worker finishes its step and writes a checkpoint; if it is still alive after this time, it hangs. */
#define LET_GO_SECONDS 120
/* mpirun gives its ranks one second. */
#define FORCE_SECONDS 10

struct _StudioWorker
{
  GObject parent_instance;
  GSubprocess *process;
  GIOStream *stream;    /* to the worker; NULL: not connected */
  WorkerSocket socket;  /* for the first of several ranks; closed: one rank */
  gboolean is_launcher; /* the process is mpirun */
  gboolean is_bridge;   /* the process carries the messages of a worker on another machine */
  GDBusConnection *connection;
  LoomBusWorker1 *proxy;
  GDataInputStream *errors;
  GCancellable *cancellable;    /* of reading standard error */
  StudioWorkerErrors diagnosis; /* on standard error */
  int pid;                      /* of a process that was attached; 0: this one has been started here */
  char pid_text[16];
  char *folder;         /* of its run */
  gboolean is_kept;     /* without the connection it goes on */
  gboolean is_released; /* it was told to */
  gboolean asked_to_end, asked_by_force, exited, drained, ended;
  guint grace, drain, let_go;
  guint n_drains;
};

G_DEFINE_TYPE (StudioWorker, studio_worker, G_TYPE_OBJECT)

static void end_by_force (StudioWorker *self);

static guint ended_signal;

static gboolean
let_go_over_cb (gpointer data)
{
  StudioWorker *self = data;
  self->let_go = 0;
  end_by_force (self);
  return G_SOURCE_REMOVE;
}

/* The first call asks mpirun to end its ranks. If it hangs, the second call kills it. */
static void
end_by_force (StudioWorker *self)
{
  /* The number is still that of the process: the connection to it is open. */
  if (self->process == NULL)
    kill (self->pid, SIGKILL);
  else if (self->is_launcher && !self->asked_by_force)
    {
      self->asked_by_force = TRUE;
      g_subprocess_send_signal (self->process, SIGTERM);
      g_clear_handle_id (&self->let_go, g_source_remove);
      self->let_go = g_timeout_add_seconds (FORCE_SECONDS, let_go_over_cb, self);
    }
  else
    g_subprocess_force_exit (self->process);
}

static void
worker_dispose (GObject *object)
{
  StudioWorker *self = STUDIO_WORKER (object);
  g_clear_handle_id (&self->grace, g_source_remove);
  g_clear_handle_id (&self->drain, g_source_remove);
  g_cancellable_cancel (self->cancellable);
  if (self->connection != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->connection, self);
      g_dbus_connection_close (self->connection, NULL, NULL, NULL);
    }
  g_clear_handle_id (&self->let_go, g_source_remove);
  worker_socket_close (&self->socket);
  g_clear_object (&self->proxy);
  g_clear_object (&self->connection);
  g_clear_object (&self->stream);
  g_clear_object (&self->errors);
  g_clear_object (&self->process);
  G_OBJECT_CLASS (studio_worker_parent_class)->dispose (object);
}

static void
worker_finalize (GObject *object)
{
  StudioWorker *self = STUDIO_WORKER (object);
  g_clear_object (&self->cancellable);
  studio_worker_errors_clear (&self->diagnosis);
  g_free (self->folder);
  G_OBJECT_CLASS (studio_worker_parent_class)->finalize (object);
}

static void
studio_worker_class_init (StudioWorkerClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = worker_dispose;
  G_OBJECT_CLASS (klass)->finalize = worker_finalize;
  ended_signal = g_signal_new ("ended", STUDIO_TYPE_WORKER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                               G_TYPE_STRING);
}

static void
studio_worker_init (StudioWorker *self)
{
  self->cancellable = g_cancellable_new ();
  studio_worker_errors_init (&self->diagnosis);
}

/* ---- several ranks ------------------------------------------------------------ */

/* A separate process group, so that Ctrl-C in Studio's terminal does not end the ranks. */
static void
own_group (gpointer data)
{
  setpgid (0, 0);
}

/* ---- the end --------------------------------------------------------------- */

char *
studio_worker_describe_end (gboolean signalled, int code, const char *last_line)
{
  g_autofree char *what = signalled
                              ? g_strdup_printf (_ ("The worker was ended by signal %d (%s)"), code, g_strsignal (code))
                              : g_strdup_printf (_ ("The worker ended with status %d"), code);
  if (last_line == NULL || *last_line == '\0')
    return g_strconcat (what, ".", NULL);
  return g_strdup_printf ("%s: %s", what, last_line);
}

/* Describes the end of a process that was attached, whose status only its parent knows. */
static char *
dup_lost (StudioWorker *self)
{
  g_autofree char *last = loom_run_log_dup_last (self->folder);
  return last != NULL ? g_strdup_printf (_ ("The worker has ended: %s"), last) : g_strdup (_ ("The worker has ended."));
}

/* NULL: it ended as it was asked to. */
static char *
dup_end (StudioWorker *self)
{
  if (self->process == NULL)
    return self->asked_to_end ? NULL : dup_lost (self);
  if (self->is_bridge)
    return self->asked_to_end ? NULL : g_strdup (self->diagnosis.explains != NULL ? self->diagnosis.explains : "");
  gboolean signalled = g_subprocess_get_if_signaled (self->process);
  int code = signalled                                    ? g_subprocess_get_term_sig (self->process)
             : g_subprocess_get_if_exited (self->process) ? g_subprocess_get_exit_status (self->process)
                                                          : -1;
  if (!self->asked_to_end && self->diagnosis.lost_rank >= 0)
    return g_strdup_printf (_ ("Rank %d was ended by signal %d (%s), which ended the other ranks too. Continue "
                               "with all of them, or set another number of ranks first."),
                            self->diagnosis.lost_rank, self->diagnosis.lost_signal,
                            g_strsignal (self->diagnosis.lost_signal));
  return !self->asked_to_end || signalled ? studio_worker_describe_end (signalled, code, self->diagnosis.explains)
                                          : NULL;
}

static void
emit_ended (StudioWorker *self)
{
  if (self->ended)
    return;
  self->ended = TRUE;
  g_clear_handle_id (&self->grace, g_source_remove);
  g_clear_handle_id (&self->drain, g_source_remove);
  g_autofree char *sentence = dup_end (self);
  g_object_ref (self);
  g_signal_emit (self, ended_signal, 0, sentence);
  g_object_unref (self);
}

static void
maybe_ended (StudioWorker *self)
{
  if (self->exited && self->drained)
    emit_ended (self);
}

/* On a busy machine lines of the process may be read long after its end. */
static gboolean
has_unread_lines (StudioWorker *self)
{
  GInputStream *errors;

  if (self->errors == NULL || self->drained || self->n_drains++ >= MAX_DRAINS)
    return FALSE;
  errors = g_filter_input_stream_get_base_stream (G_FILTER_INPUT_STREAM (self->errors));
  return g_buffered_input_stream_get_available (G_BUFFERED_INPUT_STREAM (self->errors)) > 0
         || g_pollable_input_stream_is_readable (G_POLLABLE_INPUT_STREAM (errors));
}

static gboolean
drain_over_cb (gpointer data)
{
  StudioWorker *self = data;
  if (self->exited && has_unread_lines (self))
    return G_SOURCE_CONTINUE;
  self->drain = 0;
  emit_ended (self);
  return G_SOURCE_REMOVE;
}

static void
begin_to_leave (StudioWorker *self)
{
  self->asked_to_end = TRUE;
  if (!self->exited)
    studio_worker_note_exiting (self);
}

static void
exited_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioWorker) self = data;
  g_subprocess_wait_finish (G_SUBPROCESS (source), result, NULL);
  self->exited = TRUE;
  studio_worker_note_exited (self);
  if (self->process == NULL)
    return;
  /* No rank will connect any more. */
  worker_socket_close (&self->socket);
  g_clear_handle_id (&self->let_go, g_source_remove);
  if (!self->drained && self->drain == 0)
    self->drain = g_timeout_add (DRAIN_MS, drain_over_cb, self);
  maybe_ended (self);
}

static void read_errors (StudioWorker *self);

static void
error_line_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioWorker) self = data;
  g_autofree char *line = g_data_input_stream_read_line_finish (G_DATA_INPUT_STREAM (source), result, NULL, NULL);
  if (self->errors == NULL)
    return;
  if (line == NULL)
    {
      self->drained = TRUE;
      maybe_ended (self);
      return;
    }
  g_debug ("worker: %s", line);
  studio_worker_errors_add (&self->diagnosis, line);
  read_errors (self);
}

static void
read_errors (StudioWorker *self)
{
  g_data_input_stream_read_line_async (self->errors, G_PRIORITY_LOW, self->cancellable, error_line_cb,
                                       g_object_ref (self));
}

static gboolean
grace_over_cb (gpointer data)
{
  StudioWorker *self = data;
  self->grace = 0;
  /* The rank's own message explains the end; what mpirun prints after it does not. */
  studio_worker_errors_explain (&self->diagnosis, _ ("its connection to Studio broke."));
  end_by_force (self);
  return G_SOURCE_REMOVE;
}

static void
closed_cb (GDBusConnection *connection, gboolean remote_vanished, GError *error, StudioWorker *self)
{
  if (self->process == NULL)
    {
      self->exited = self->drained = TRUE;
      studio_worker_note_exited (self);
      emit_ended (self);
      return;
    }
  if (self->is_bridge)
    {
      if (!self->exited && self->drain == 0)
        self->drain = g_timeout_add (BRIDGE_MS, drain_over_cb, self);
    }
  else if (!self->exited && self->grace == 0 && !self->asked_to_end)
    self->grace = g_timeout_add (self->is_launcher ? 1000 * FORCE_SECONDS : GRACE_MS, grace_over_cb, self);
}

/* ---- starting --------------------------------------------------------------- */

static void
give_up (GTask *task, const char *sentence)
{
  StudioWorker *self = g_task_get_task_data (task);
  self->asked_to_end = TRUE;
  if (self->process != NULL)
    end_by_force (self);
  if (self->is_bridge && self->diagnosis.explains != NULL)
    g_task_return_new_error (task, LOOM_ERROR, LOOM_ERROR_IO, "%s", self->diagnosis.explains);
  else if (self->diagnosis.explains != NULL)
    g_task_return_new_error (task, LOOM_ERROR, LOOM_ERROR_IO, _ ("%s Its last message: %s"), sentence,
                             self->diagnosis.explains);
  else
    g_task_return_new_error (task, LOOM_ERROR, LOOM_ERROR_IO, "%s", sentence);
}

static gboolean
no_magic_cb (gpointer data)
{
  if (has_unread_lines (g_task_get_task_data (data)))
    return G_SOURCE_CONTINUE;
  give_up (data, _ ("The worker ended before it was ready."));
  return G_SOURCE_REMOVE;
}

/* Its last output may still be in the pipe. Takes ownership of task. */
static void
give_up_soon (GTask *task)
{
  g_timeout_add_full (G_PRIORITY_DEFAULT, DRAIN_MS, no_magic_cb, task, g_object_unref);
}

static void
greeted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  StudioWorker *self = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  self->proxy = worker_greeting_finish (result, &error);
  if (self->proxy == NULL)
    {
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CLOSED))
        give_up_soon (g_steal_pointer (&task));
      else
        give_up (task, error->message);
      return;
    }
  self->connection = g_object_ref (g_dbus_proxy_get_connection (G_DBUS_PROXY (self->proxy)));
  g_signal_connect (self->connection, "closed", G_CALLBACK (closed_cb), self);
  g_task_return_pointer (task, g_object_ref (self), g_object_unref);
}

/* Takes ownership of task. */
static void
greet (GTask *task)
{
  StudioWorker *self = g_task_get_task_data (task);
  worker_greeting_async (self->stream, g_task_get_cancellable (task), greeted_cb, task);
}

/* The first of several ranks has connected. */
static void
accepted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  StudioWorker *self = g_task_get_task_data (task);
  GSocketConnection *stream = worker_socket_accept_finish (result);

  if (stream == NULL)
    {
      give_up_soon (g_steal_pointer (&task));
      return;
    }
  worker_socket_close (&self->socket);
  self->stream = G_IO_STREAM (stream);
  greet (g_steal_pointer (&task));
}

static void
spawn (StudioWorker *self, const char *program, int cpu_devices, int ranks, GError **error)
{
  g_autofree char *found = ranks > 1 ? loom_dist_find_launcher () : NULL;
  const char *mpirun = found != NULL && worker_socket_open (&self->socket) ? found : NULL;
  g_autofree char *devices = g_strdup_printf ("%d", cpu_devices), *number = g_strdup_printf ("%d", ranks);
  g_auto (GStrv) environment = loom_dist_launch_environment ();
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      mpirun != NULL ? G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_PIPE
                     : G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);

  if (mpirun != NULL)
    g_subprocess_launcher_set_environ (launcher, environment);
  g_subprocess_launcher_setenv (launcher, "GRADLOOM_CPU_DEVICES", devices, FALSE);
  if (mpirun == NULL)
    {
      self->process = g_subprocess_launcher_spawn (launcher, error, program, "worker", NULL);
      if (self->process != NULL)
        self->stream = g_simple_io_stream_new (g_subprocess_get_stdout_pipe (self->process),
                                               g_subprocess_get_stdin_pipe (self->process));
      return;
    }
  g_subprocess_launcher_set_child_setup (launcher, own_group, NULL, NULL);
  const char *words[] = { mpirun, "-np", number, program, "worker", "--socket", self->socket.path, NULL };
  self->is_launcher = TRUE;
  self->process = g_subprocess_launcher_spawnv (launcher, words, error);
}

static void
watch_process (StudioWorker *self)
{
  self->errors = g_data_input_stream_new (g_subprocess_get_stderr_pipe (self->process));
  read_errors (self);
  g_subprocess_wait_async (self->process, NULL, exited_cb, g_object_ref (self));
}

void
studio_worker_spawn_async (int cpu_devices, int ranks, GCancellable *cancellable, GAsyncReadyCallback callback,
                           gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, data);
  GError *error = NULL;
  g_autofree char *program = studio_worker_find_program (&error);
  g_autoptr (StudioWorker) self = g_object_new (STUDIO_TYPE_WORKER, NULL);

  if (program != NULL)
    spawn (self, program, cpu_devices, ranks, &error);
  if (self->process == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  watch_process (self);
  StudioWorker *worker = self;
  g_task_set_task_data (task, g_steal_pointer (&self), g_object_unref);
  if (worker->stream != NULL)
    greet (g_steal_pointer (&task));
  else
    worker_socket_accept_async (&worker->socket, cancellable, accepted_cb, g_steal_pointer (&task));
}

StudioWorker *
studio_worker_spawn_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- attaching ------------------------------------------------------------------ */

static gboolean
spawn_bridge (StudioWorker *self, const char *folder, GError **error)
{
  g_autofree char *program = studio_worker_find_program (error);

  if (program != NULL)
    self->process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE
                                          | G_SUBPROCESS_FLAGS_STDERR_PIPE,
                                      error, program, "remote", "connect", folder, NULL);
  if (self->process == NULL)
    return FALSE;
  self->is_bridge = TRUE;
  self->stream = g_simple_io_stream_new (g_subprocess_get_stdout_pipe (self->process),
                                         g_subprocess_get_stdin_pipe (self->process));
  watch_process (self);
  return TRUE;
}

static gboolean
connect_socket (StudioWorker *self, const char *folder, GError **error)
{
  int fd = loom_run_socket_connect (folder, &self->pid, error);
  g_autoptr (GSocket) socket = fd >= 0 ? g_socket_new_from_fd (fd, error) : NULL;

  if (socket == NULL)
    {
      if (fd >= 0)
        close (fd);
      return FALSE;
    }
  g_snprintf (self->pid_text, sizeof self->pid_text, "%d", self->pid);
  self->stream = G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
  return TRUE;
}

void
studio_worker_attach_async (const char *folder, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, data);
  g_autoptr (StudioWorker) self = g_object_new (STUDIO_TYPE_WORKER, NULL);
  g_auto (LoomRunHost) host = { NULL };
  GError *error = NULL;

  if (!(loom_run_host_read (folder, &host) ? spawn_bridge (self, folder, &error)
                                           : connect_socket (self, folder, &error)))
    {
      g_task_return_error (task, error);
      return;
    }
  self->folder = g_strdup (folder);
  self->is_kept = TRUE;
  g_task_set_task_data (task, g_steal_pointer (&self), g_object_unref);
  greet (g_steal_pointer (&task));
}

StudioWorker *
studio_worker_attach_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- leaving ------------------------------------------------------------------------- */

static void
close_connection (StudioWorker *self)
{
  if (self->connection != NULL)
    g_dbus_connection_close (self->connection, NULL, NULL, NULL);
}

/* The worker knows what to do without its connection; a window has asked before whether it may keep the run. */
static void
kept_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioWorker) self = data;

  loom_bus_worker1_call_keep_finish (LOOM_BUS_WORKER1 (source), result, NULL);
  close_connection (self);
  /* Nothing is left to wait for: this is the last reference, or the process is no longer this one's. */
  if (self->is_released || self->process == NULL)
    studio_worker_note_exited (self);
}

static void
keep_and_close (StudioWorker *self, gboolean keep)
{
  loom_bus_worker1_call_keep (self->proxy, keep, NULL, kept_cb, g_object_ref (self));
}

void
studio_worker_release (StudioWorker *self)
{
  if (self->asked_to_end || self->proxy == NULL)
    return;
  self->is_released = TRUE;
  begin_to_leave (self);
  keep_and_close (self, TRUE);
}

void
studio_worker_note_kept (StudioWorker *self)
{
  self->is_kept = TRUE;
}

LoomBusWorker1 *
studio_worker_get_proxy (StudioWorker *self)
{
  return self->proxy;
}

void
studio_worker_finish (StudioWorker *self)
{
  if (self->asked_to_end)
    return;
  begin_to_leave (self);
  if (self->is_kept && self->proxy != NULL)
    keep_and_close (self, FALSE);
  else
    close_connection (self);
  if (!self->exited && self->let_go == 0 && self->process != NULL)
    self->let_go = g_timeout_add_seconds (LET_GO_SECONDS, let_go_over_cb, self);
}

void
studio_worker_force_exit (StudioWorker *self)
{
  begin_to_leave (self);
  if (!self->exited && !self->is_released)
    end_by_force (self);
}

gboolean
studio_worker_has_ended (StudioWorker *self)
{
  return self->exited;
}

const char *
studio_worker_get_pid (StudioWorker *self)
{
  return self->process != NULL ? g_subprocess_get_identifier (self->process) : self->pid_text;
}
