/* Connects to workers, without a main loop until the connection exists. */
#include "app/worker-link.h"

#include "data/loom-worker-magic.h"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <unistd.h>

void
worker_link_clean (GError **error)
{
  GError *cleaned;

  if (error == NULL || *error == NULL || (*error)->domain == LOOM_ERROR)
    return;
  g_dbus_error_strip_remote_error (*error);
  cleaned = g_error_new_literal (LOOM_ERROR, LOOM_ERROR_IO, (*error)->message);
  g_clear_error (error);
  *error = cleaned;
}

GError *
worker_link_error (const char *code, const char *sentence)
{
  for (int c = 0; c <= LOOM_ERROR_OUTSIDE; c++)
    if (g_strcmp0 (loom_error_code_name (c), code) == 0)
      return g_error_new_literal (LOOM_ERROR, c, sentence);
  return g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DEVICE, sentence);
}

/* The bytes up to the magic line, one by one, because D-Bus begins after it. */
static gboolean
read_magic (GInputStream *input, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  LoomWorkerSays says = LOOM_WORKER_SAYS_NOTHING;
  char c;

  while (says == LOOM_WORKER_SAYS_NOTHING && text->len < LOOM_WORKER_MAX_NOISE
         && g_input_stream_read (input, &c, 1, NULL, NULL) == 1)
    {
      g_string_append_c (text, c);
      says = loom_worker_says (text->str, text->len);
    }
  if (says == LOOM_WORKER_SAYS_BUSY)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "The run is shown in a window, or by another gradloom attach. Close that first, and let the run go "
                 "on.");
  else if (says == LOOM_WORKER_SAYS_OTHER)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "The run is trained by another version of Gradloom. Attach it with that version.");
  else if (says == LOOM_WORKER_SAYS_NOTHING)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE, "The worker ended before it was ready.");
  return says == LOOM_WORKER_SAYS_READY;
}

static gboolean
open_stream (WorkerLink *link, GIOStream *stream, GError **error)
{
  if (!read_magic (g_io_stream_get_input_stream (stream), error))
    return FALSE;
  link->connection = g_dbus_connection_new_sync (stream, NULL, G_DBUS_CONNECTION_FLAGS_NONE, NULL, NULL, error);
  if (link->connection == NULL)
    return FALSE;
  g_dbus_connection_set_exit_on_close (link->connection, FALSE);
  link->proxy = loom_bus_worker1_proxy_new_sync (
      link->connection, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START, NULL,
      LOOM_WORKER_OBJECT, NULL, error);
  if (link->proxy != NULL)
    g_dbus_proxy_set_default_timeout (G_DBUS_PROXY (link->proxy), G_MAXINT);
  return link->proxy != NULL;
}

gboolean
worker_link_start (WorkerLink *link, GError **error)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", error);
  char *argv[] = { program, (char *)"worker", NULL };
  int in, out;

  *link = (WorkerLink){ NULL };
  if (program == NULL
      || !g_spawn_async_with_pipes (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &in, &out, NULL, error))
    {
      worker_link_clean (error);
      return FALSE;
    }
  g_autoptr (GInputStream) input = g_unix_input_stream_new (out, TRUE);
  g_autoptr (GOutputStream) output = g_unix_output_stream_new (in, TRUE);
  g_autoptr (GIOStream) stream = g_simple_io_stream_new (input, output);
  if (open_stream (link, stream, error))
    return TRUE;
  worker_link_clean (error);
  return FALSE;
}

/* What listens there must train this folder, or it has been put there by another program. */
static gboolean
check_run (WorkerLink *link, const char *folder, GError **error)
{
  g_autoptr (GVariant) run = NULL;
  const char *version = NULL;

  if (!loom_bus_worker1_call_describe_sync (link->proxy, &run, NULL, error))
    return FALSE;
  g_variant_lookup (run, "version", "&s", &version);
  if (g_strcmp0 (version, LOOM_VERSION) != 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "The run is trained by another version of Gradloom. Attach it with that version.");
  else if (!loom_run_is_described (folder, run))
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The program at the socket of %s trains something else.", folder);
  else
    return TRUE;
  return FALSE;
}

gboolean
worker_link_open (WorkerLink *link, GIOStream *stream, GError **error)
{
  *link = (WorkerLink){ NULL };
  if (open_stream (link, stream, error))
    return TRUE;
  worker_link_clean (error);
  return FALSE;
}

gboolean
worker_link_attach (WorkerLink *link, const char *folder, GError **error)
{
  int fd = loom_run_socket_connect (folder, NULL, error);
  g_autoptr (GSocket) socket = fd >= 0 ? g_socket_new_from_fd (fd, error) : NULL;
  g_autoptr (GSocketConnection) stream = NULL;

  *link = (WorkerLink){ NULL };
  if (socket == NULL)
    {
      loom_close (fd);
      return FALSE;
    }
  g_socket_set_blocking (socket, TRUE);
  stream = g_socket_connection_factory_create_connection (socket);
  if (open_stream (link, G_IO_STREAM (stream), error) && check_run (link, folder, error))
    return TRUE;
  /* Its process closes the connection at the end. */
  if (error != NULL && ((*error)->domain != LOOM_ERROR || (*error)->code == LOOM_ERROR_DEVICE))
    {
      g_clear_error (error);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The run in %s has just ended.", folder);
    }
  return FALSE;
}

void
worker_link_close (WorkerLink *link)
{
  if (link->connection != NULL && !g_dbus_connection_is_closed (link->connection))
    {
      g_dbus_connection_flush_sync (link->connection, NULL, NULL);
      g_dbus_connection_close_sync (link->connection, NULL, NULL);
    }
  g_clear_object (&link->proxy);
  g_clear_object (&link->connection);
}
