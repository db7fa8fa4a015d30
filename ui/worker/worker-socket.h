/* The socket that the first of several ranks connects to, in the user's folder for such files.
 *
 * Only a process of the same user is accepted: the permissions of the socket depend on the umask. */
#pragma once

#include <gio/gio.h>

/* Zeros: closed. */
typedef struct
{
  GSocketListener *listener;
  char *path;
} WorkerSocket;

/* FALSE, with a message in the log, if the socket cannot be created; it is then closed. */
gboolean worker_socket_open (WorkerSocket *self);
/* Removes the file, too. */
void worker_socket_close (WorkerSocket *self);
/* Waits for one connection; refuses those of other users. */
void
worker_socket_accept_async (WorkerSocket *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* NULL: closed or cancelled. (transfer full) */
GSocketConnection *worker_socket_accept_finish (GAsyncResult *result);
