/* The socket for the first of several ranks, without a worker. */
#include <gio/gunixsocketaddress.h>

#include "tests/test-program.h"
#include "ui/worker/worker-socket.h"

static void
accepted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  *(GSocketConnection **)data = worker_socket_accept_finish (result);
}

/* A client of this user is accepted, and the file is removed with the socket. */
static void
test_accept (void)
{
  WorkerSocket socket = { NULL };
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketConnection) mine = NULL, accepted = NULL;
  g_autoptr (GSocketAddress) address = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;

  g_assert_true (worker_socket_open (&socket));
  path = g_strdup (socket.path);
  address = g_unix_socket_address_new (path);
  worker_socket_accept_async (&socket, NULL, accepted_cb, &accepted);
  mine = g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, &error);
  g_assert_no_error (error);
  while (accepted == NULL)
    g_main_context_iteration (NULL, TRUE);
  worker_socket_close (&socket);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
}

typedef struct
{
  gboolean is_over;
  GSocketConnection *stream;
} Answer;

static void
answered_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  *(Answer *)data = (Answer){ TRUE, worker_socket_accept_finish (result) };
}

static void
test_cancel (void)
{
  WorkerSocket socket = { NULL };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Answer answer = { FALSE, NULL };

  g_assert_true (worker_socket_open (&socket));
  worker_socket_accept_async (&socket, cancellable, answered_cb, &answer);
  g_cancellable_cancel (cancellable);
  while (!answer.is_over)
    g_main_context_iteration (NULL, TRUE);
  g_assert_null (answer.stream);
  worker_socket_close (&socket);
  worker_socket_close (&socket);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/worker-socket/accept", test_accept);
  g_test_add_func ("/worker-socket/cancel", test_cancel);
  return g_test_run ();
}
