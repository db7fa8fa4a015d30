/* Implements worker-greeting.h. The magic line is read byte by byte, so that no byte of the D-Bus stream after it is
 * consumed. */
#include "ui/worker/worker-greeting.h"

#include <glib/gi18n.h>

#include "data/loom-worker-magic.h"

typedef struct
{
  GIOStream *stream;
  GString *text; /* that the worker has sent */
  guint8 byte;
} Greeting;

static void
greeting_free (gpointer data)
{
  Greeting *self = data;
  g_object_unref (self->stream);
  g_string_free (self->text, TRUE);
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

static void
connect_bus (GTask *task)
{
  const Greeting *self = g_task_get_task_data (task);
  g_dbus_connection_new (self->stream, NULL, G_DBUS_CONNECTION_FLAGS_NONE, NULL, g_task_get_cancellable (task),
                         connected_cb, task);
}

static void
byte_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  Greeting *self = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  LoomWorkerSays says;
  gssize n = g_input_stream_read_finish (G_INPUT_STREAM (source), result, &error);
  if (n <= 0)
    {
      g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_CLOSED, _ ("The worker ended before it was ready."));
      return;
    }
  g_string_append_c (self->text, (char)self->byte);
  says = loom_worker_says (self->text->str, self->text->len);
  if (says == LOOM_WORKER_SAYS_READY)
    connect_bus (g_steal_pointer (&task));
  else if (says == LOOM_WORKER_SAYS_BUSY)
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_BUSY,
                             _ ("The run is shown in another window. Close that window and let the run go on, then "
                                "attach it here."));
  else if (says == LOOM_WORKER_SAYS_OTHER)
    g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                             _ ("The run is trained by another version of Gradloom. Attach it with that version."));
  else if (self->text->len > LOOM_WORKER_MAX_NOISE)
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
  self->text = g_string_new (NULL);
  g_task_set_task_data (task, self, greeting_free);
  read_byte (task);
}

LoomBusWorker1 *
worker_greeting_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
