/* Implements worker-socket.h. */
#include "ui/worker/worker-socket.h"

#include <gio/gunixsocketaddress.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

gboolean
worker_socket_open (WorkerSocket *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSocketAddress) address = NULL;
  g_autofree char *random = g_uuid_string_random ();
  g_autofree char *name = g_strdup_printf ("gradloom-%.8s.socket", random);

  self->path = g_build_filename (g_get_user_runtime_dir (), name, NULL);
  /* GLib truncates a longer path. */
  if (strlen (self->path) >= sizeof (((struct sockaddr_un *)0)->sun_path))
    {
      g_message ("Ranks are threads of one process, because %s is too long for a socket.", self->path);
      g_clear_pointer (&self->path, g_free);
      return FALSE;
    }
  address = g_unix_socket_address_new (self->path);
  self->listener = g_socket_listener_new ();
  if (g_socket_listener_add_address (self->listener, address, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, NULL,
                                     NULL, &error))
    return TRUE;
  g_message ("Ranks are threads of one process, because there is no socket at %s: %s", self->path, error->message);
  worker_socket_close (self);
  return FALSE;
}

void
worker_socket_close (WorkerSocket *self)
{
  if (self->path != NULL)
    unlink (self->path);
  g_clear_pointer (&self->path, g_free);
  if (self->listener != NULL)
    g_socket_listener_close (self->listener);
  g_clear_object (&self->listener);
}

static gboolean
is_same_user (GSocketConnection *stream)
{
  g_autoptr (GCredentials) peer = g_socket_get_credentials (g_socket_connection_get_socket (stream), NULL),
                           own = g_credentials_new ();

  return peer != NULL && g_credentials_is_same_user (peer, own, NULL);
}

static void
accepted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  g_autoptr (GSocketConnection) stream
      = g_socket_listener_accept_finish (G_SOCKET_LISTENER (source), result, NULL, NULL);

  if (stream != NULL && !is_same_user (stream))
    {
      GCancellable *cancellable = g_task_get_cancellable (task);
      g_socket_listener_accept_async (G_SOCKET_LISTENER (source), cancellable, accepted_cb, g_steal_pointer (&task));
    }
  else
    g_task_return_pointer (task, g_steal_pointer (&stream), g_object_unref);
}

void
worker_socket_accept_async (WorkerSocket *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  GTask *task = g_task_new (NULL, cancellable, callback, data);

  /* An accepted connection is delivered although the caller has been cancelled since. */
  g_task_set_check_cancellable (task, FALSE);
  g_socket_listener_accept_async (self->listener, cancellable, accepted_cb, task);
}

GSocketConnection *
worker_socket_accept_finish (GAsyncResult *result)
{
  return g_task_propagate_pointer (G_TASK (result), NULL);
}
