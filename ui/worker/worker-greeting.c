/* Implements worker-greeting.h. The magic line is read byte by byte, so that no byte of the D-Bus stream after it is
 * consumed. */
#include "ui/worker/worker-greeting.h"

#include <glib/gi18n.h>
#include <string.h>

#include "data/loom-worker-magic.h"

typedef struct
{
  GIOStream *stream;
  GString *line; /* the text since the last line end */
  gsize length;  /* of all text */
  guint8 byte;
} Greeting;

static void
greeting_free (gpointer data)
{
  Greeting *self = data;
  g_object_unref (self->stream);
  g_string_free (self->line, TRUE);
  g_free (self);
}

static void read_byte (GTask *task);

static void
proxy_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  GError *error = NULL;
  LoomBusWorker1 *proxy = loom_bus_worker1_proxy_new_finish (result, &error);
  if (proxy == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  g_dbus_proxy_set_default_timeout (G_DBUS_PROXY (proxy), G_MAXINT);
  g_task_return_pointer (task, proxy, g_object_unref);
}

static void
connected_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  GError *error = NULL;
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_finish (result, &error);
  if (connection == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  g_dbus_connection_set_exit_on_close (connection, FALSE);
  GCancellable *cancellable = g_task_get_cancellable (task);
  loom_bus_worker1_proxy_new (connection,
                              G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START, NULL,
                              LOOM_WORKER_OBJECT, cancellable, proxy_cb, g_steal_pointer (&task));
}

/* TRUE if the line decides. A library may have printed to the same line. */
static gboolean
is_decided (GTask *task, const char *line)
{
  if (g_str_has_suffix (line, LOOM_WORKER_BUSY))
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_BUSY,
                             _ ("The run is shown in another window. Close that window and let the run go on, then "
                                "attach it here."));
  else if (strstr (line, LOOM_WORKER_MAGIC_NAME) != NULL)
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                             _ ("The run is trained by another version of Gradloom. Attach it with that version."));
  else
    return FALSE;
  return TRUE;
}

static void
byte_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  Greeting *self = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, &error);
  if (n <= 0)
    {
      g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_CLOSED, _ ("The worker ended before it was ready."));
      return;
    }
  g_string_append_c (self->line, (char)self->byte);
  self->length++;
  if (self->byte == '\n' && g_str_has_suffix (self->line->str, LOOM_WORKER_MAGIC))
    {
      GCancellable *cancellable = g_task_get_cancellable (task);
      g_dbus_connection_new (self->stream, NULL, G_DBUS_CONNECTION_FLAGS_NONE, NULL, cancellable, connected_cb,
                             g_steal_pointer (&task));
      return;
    }
  if (self->byte == '\n' && is_decided (task, self->line->str))
    return;
  if (self->byte == '\n')
    g_string_truncate (self->line, 0);
  if (self->length > LOOM_WORKER_MAX_NOISE)
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                             _ ("The worker program printed 64 KiB without reporting that it was ready."));
  else
    read_byte (g_steal_pointer (&task));
}

/* Takes ownership of task. */
static void
read_byte (GTask *task)
{
  Greeting *self = g_task_get_task_data (task);
  g_input_stream_read_async (g_io_stream_get_input_stream (self->stream), &self->byte, 1, G_PRIORITY_DEFAULT,
                             g_task_get_cancellable (task), byte_cb, task);
}

void
worker_greeting_async (GIOStream *stream, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, data);
  Greeting *self = g_new0 (Greeting, 1);
  self->stream = g_object_ref (stream);
  self->line = g_string_new (NULL);
  g_task_set_task_data (task, self, greeting_free);
  read_byte (task);
}

LoomBusWorker1 *
worker_greeting_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
