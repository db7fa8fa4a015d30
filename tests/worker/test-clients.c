/* Runs that go on without their client: leaving, attaching, being refused, and what is left of a killed worker. */
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/infer/loom-run-socket.h"
#include "engine/loom.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

/* The worker has the same state folder as this test. */
static void
set_up (Fixture *f, gconstpointer data)
{
  g_setenv ("XDG_STATE_HOME", g_get_user_state_dir (), TRUE);
  worker_set_up (f, data);
}

static char *
dup_run (Fixture *f)
{
  return g_build_filename (f->folder, "run", NULL);
}

static void
disconnect (Fixture *f)
{
  g_signal_handlers_disconnect_by_data (f->bus, f);
  g_signal_handlers_disconnect_by_data (f->connection, f);
  g_dbus_connection_close_sync (f->connection, NULL, NULL);
  g_clear_object (&f->bus);
  g_clear_object (&f->connection);
}

/* A long run whose client leaves it after a step. */
static void
leave (Fixture *f)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 100000, FALSE);
  WAIT_UNTIL (f->last_step > 0);
  CALL (f, keep, TRUE);
  disconnect (f);
}

/* As another client: figures of the one before are forgotten. */
static void
attach (Fixture *f)
{
  g_autofree char *run = dup_run (f), *noise = NULL;
  g_autoptr (GError) error = NULL;
  int pid = 0, fd = loom_run_socket_connect (run, &pid, &error);

  g_assert_no_error (error);
  g_assert_cmpint (pid, ==, f->pid);
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) & ~O_NONBLOCK);
  noise = worker_read_magic (fd);
  g_assert_cmpstr (noise, ==, "");
  f->out = fd;
  f->in = dup (fd);
  f->points = f->last_step = 0;
  g_clear_pointer (&f->state, g_free);
  worker_connect (f);
}

static void
end (Fixture *f)
{
  g_autofree char *run = dup_run (f);

  CALL (f, keep, FALSE);
  disconnect (f);
  g_assert_cmpint (worker_reap (f), ==, 0);
  g_assert_false (loom_run_socket_exists (run));
}

static void
test_attach (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) description = NULL;
  LoomRunIdentity id;
  guint64 device = 0, inode = 0;
  gint64 step;

  g_assert_false (loom_run_socket_exists (run));
  leave (f);
  for (guint i = 0; i < 2; i++)
    {
      attach (f);
      loom_bus_worker1_call_describe_sync (f->bus, &description, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (g_variant_lookup (description, "device", "t", &device));
      g_assert_true (g_variant_lookup (description, "inode", "t", &inode));
      g_assert_true (loom_run_identify (run, &id));
      g_assert_true (id.device == device && id.inode == inode);
      g_clear_pointer (&description, g_variant_unref);
      g_assert_null (f->state);
      g_assert_cmpint (f->points, ==, 0);
      CALL (f, follow);
      /* The points of all steps so far, or evenly some of them, and then what comes. */
      WAIT_UNTIL (worker_state_is (f, "running"));
      g_assert_cmpint (f->points, >, 0);
      g_assert_cmpint (f->points, <=, 8193);
      step = f->last_step;
      WAIT_UNTIL (f->last_step > step);
      CALL (f, pause);
      WAIT_UNTIL (worker_state_is (f, "paused"));
      CALL (f, resume);
      WAIT_UNTIL (worker_state_is (f, "running"));
      if (i == 0)
        disconnect (f);
    }
  end (f);
}

static void
test_busy (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f);
  char line[64] = "";
  gsize n = 0;
  int fd;

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 100000, FALSE);
  WAIT_UNTIL (f->last_step > 0);
  CALL (f, keep, TRUE);
  fd = loom_run_socket_connect (run, NULL, NULL);
  g_assert_cmpint (fd, >=, 0);
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) & ~O_NONBLOCK);
  while (n < sizeof line - 1 && read (fd, line + n, 1) == 1)
    n++;
  close (fd);
  g_assert_cmpstr (line, ==, LOOM_WORKER_BUSY);
  end (f);
}

/* Without leave the run ends with its client, as ever, and with leave only while a run is active. */
static void
test_not_kept (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f), *weights = g_build_filename (run, "weights.safetensors", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (loom_bus_worker1_call_keep_sync (f->bus, TRUE, NULL, &error));
  g_assert_nonnull (error);
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 100000, FALSE);
  WAIT_UNTIL (f->last_step > 0);
  disconnect (f);
  g_assert_cmpint (worker_reap (f), ==, 0);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
}

/* A run that ends without a client says how in Studio's note. */
static void
test_note (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f);
  g_auto (LoomRunUnfinished) note = { NULL };

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 3, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  loom_run_unfinished_write (run, &(LoomRunUnfinished){ .hash = (char *)"abc" });
  CALL (f, keep, TRUE);
  CALL (f, resume);
  disconnect (f);
  g_assert_cmpint (worker_reap (f), ==, 0);
  g_assert_true (loom_run_unfinished_read (run, &note));
  g_assert_cmpstr (note.hash, ==, "abc");
  g_assert_cmpint (note.end, ==, LOOM_RUN_END_DONE);
  g_assert_false (loom_run_socket_exists (run));
}

/* SIGTERM, as at a shutdown: a checkpoint, and a run that was stopped. */
static void
test_terminated (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f), *weights = g_build_filename (run, "weights.safetensors", NULL);
  g_auto (LoomRunUnfinished) note = { NULL };

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 100000, FALSE);
  WAIT_UNTIL (f->last_step > 0);
  loom_run_unfinished_write (run, &(LoomRunUnfinished){ .hash = (char *)"abc" });
  CALL (f, keep, TRUE);
  disconnect (f);
  kill (f->pid, SIGTERM);
  worker_reap (f);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
  g_assert_true (loom_run_unfinished_read (run, &note));
  g_assert_cmpint (note.end, ==, LOOM_RUN_END_STOPPED);
}

/* The next client has left before it is greeted, and the worker has not noticed the end of the one before. */
static void
test_two_left (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f);
  g_auto (LoomRunUnfinished) note = { NULL };

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 100000, FALSE);
  WAIT_UNTIL (f->last_step > 0);
  loom_run_unfinished_write (run, &(LoomRunUnfinished){ .hash = (char *)"abc" });
  CALL (f, keep, TRUE);
  kill (f->pid, SIGSTOP);
  disconnect (f);
  close (loom_run_socket_connect (run, NULL, NULL));
  kill (f->pid, SIGCONT);
  kill (f->pid, SIGTERM);
  worker_reap (f);
  g_assert_true (loom_run_unfinished_read (run, &note));
  g_assert_cmpint (note.end, ==, LOOM_RUN_END_STOPPED);
}

static void
test_killed (Fixture *f, gconstpointer data)
{
  g_autofree char *run = dup_run (f);
  g_autoptr (GError) error = NULL;

  leave (f);
  kill (f->pid, SIGKILL);
  worker_reap (f);
  /* The file is left, and leads nowhere. */
  g_assert_true (loom_run_socket_exists (run));
  g_assert_cmpint (loom_run_socket_connect (run, NULL, &error), ==, -1);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

/* ---- the socket ------------------------------------------------------- */

static void
test_socket (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-socket-XXXXXX", NULL),
                  *run = g_build_filename (folder, "run", NULL), *copy = g_build_filename (folder, "copy", NULL),
                  *moved = g_build_filename (folder, "moved", NULL);
  g_autofree char *live = g_build_filename (g_get_user_state_dir (), "gradloom", "live", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomRunSocket) socket = NULL;
  int pid = 0, client, server;

  g_assert_null (loom_run_socket_listen (run, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_mkdir (run, 0700);
  g_mkdir (copy, 0700);
  socket = loom_run_socket_listen (run, &error);
  g_assert_no_error (error);
  g_assert_cmpint (loom_run_socket_accept (socket), ==, -1);
  /* It belongs to the folder, wherever that is, and to no other. */
  g_assert_cmpint (g_rename (run, moved), ==, 0);
  g_assert_true (loom_run_socket_exists (moved));
  g_assert_false (loom_run_socket_exists (copy));
  client = loom_run_socket_connect (moved, &pid, &error);
  g_assert_no_error (error);
  g_assert_cmpint (pid, ==, getpid ());
  server = loom_run_socket_accept (socket);
  g_assert_cmpint (server, >=, 0);
  close (client);
  close (server);

  /* A folder that others may enter is not trusted. */
  g_assert_cmpint (g_chmod (live, 0755), ==, 0);
  g_assert_false (loom_run_socket_exists (moved));
  g_assert_cmpint (loom_run_socket_connect (moved, NULL, &error), ==, -1);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (loom_run_socket_listen (copy, NULL));
  g_assert_cmpint (g_chmod (live, 0700), ==, 0);

  /* A later process has replaced the file: the end of the earlier one leaves it. */
  LoomRunSocket *later = loom_run_socket_listen (moved, &error);
  g_assert_no_error (error);
  g_clear_pointer (&socket, loom_run_socket_free);
  g_assert_true (loom_run_socket_exists (moved));
  loom_run_socket_free (later);
  g_assert_false (loom_run_socket_exists (moved));
  remove_tree (folder);
}

/* A link or a file at its place, and a socket in the run's folder itself, lead nowhere. */
static void
test_forged (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-forged-XXXXXX", NULL),
                  *run = g_build_filename (folder, "run", NULL),
                  *other = g_build_filename (folder, "other.socket", NULL);
  g_autofree char *live = g_build_filename (g_get_user_state_dir (), "gradloom", "live", NULL), *path = NULL;
  g_autoptr (LoomRunSocket) own = NULL;
  g_autoptr (GDir) dir = NULL;
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const char *name;
  int fd;

  g_mkdir (run, 0700);
  own = loom_run_socket_listen (run, NULL);
  g_assert_nonnull (own);
  dir = g_dir_open (live, 0, NULL);
  do
    g_assert_nonnull (name = g_dir_read_name (dir));
  while (!g_str_has_suffix (name, ".socket"));
  path = g_build_filename (live, name, NULL);
  g_strlcpy (address.sun_path, other, sizeof address.sun_path);
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_cmpint (bind (fd, (struct sockaddr *)&address, sizeof address), ==, 0);
  g_assert_cmpint (listen (fd, 1), ==, 0);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (symlink (other, path), ==, 0);
  g_assert_false (loom_run_socket_exists (run));
  g_assert_cmpint (loom_run_socket_connect (run, NULL, NULL), ==, -1);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_true (g_file_set_contents (path, "no socket", -1, NULL));
  g_assert_false (loom_run_socket_exists (run));
  g_assert_cmpint (loom_run_socket_connect (run, NULL, NULL), ==, -1);
  g_unlink (path);
  close (fd);
  remove_tree (folder);
}

/* ---- the note --------------------------------------------------------- */

static void
test_unfinished (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-note-XXXXXX", NULL);
  g_auto (LoomRunUnfinished) note = { NULL };
  g_autofree char *path = g_build_filename (folder, LOOM_RUN_UNFINISHED, NULL);

  g_assert_false (loom_run_unfinished_read (folder, &note));
  loom_run_unfinished_end (folder, LOOM_RUN_END_DONE, NULL);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  loom_run_unfinished_write (folder, &(LoomRunUnfinished){ .hash = (char *)"abc" });
  g_assert_true (loom_run_unfinished_read (folder, &note));
  g_assert_cmpint (note.end, ==, LOOM_RUN_END_NONE);
  loom_run_unfinished_clear (&note);
  /* A sentence is one line without control characters, also in a foreign folder. */
  loom_run_unfinished_end (folder, LOOM_RUN_END_FAILED, "Out of\nmemory \033[31m.");
  g_assert_true (loom_run_unfinished_read (folder, &note));
  g_assert_cmpstr (note.hash, ==, "abc");
  g_assert_cmpint (note.end, ==, LOOM_RUN_END_FAILED);
  g_assert_nonnull (note.sentence);
  g_assert_null (strpbrk (note.sentence, "\n\033"));
  loom_run_unfinished_clear (&note);
  g_assert_true (g_file_set_contents (path, "abc\nstopped\n", -1, NULL));
  g_assert_true (loom_run_unfinished_read (folder, &note));
  g_assert_cmpint (note.end, ==, LOOM_RUN_END_STOPPED);
  g_assert_null (note.sentence);
  loom_run_unfinished_remove (folder);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  remove_tree (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/clients/socket", test_socket);
  g_test_add_func ("/clients/forged", test_forged);
  g_test_add_func ("/clients/unfinished", test_unfinished);
  g_test_add ("/clients/attach", Fixture, NULL, set_up, test_attach, worker_tear_down);
  g_test_add ("/clients/busy", Fixture, NULL, set_up, test_busy, worker_tear_down);
  g_test_add ("/clients/not-kept", Fixture, NULL, set_up, test_not_kept, worker_tear_down);
  g_test_add ("/clients/note", Fixture, NULL, set_up, test_note, worker_tear_down);
  g_test_add ("/clients/terminated", Fixture, NULL, set_up, test_terminated, worker_tear_down);
  g_test_add ("/clients/two-left", Fixture, NULL, set_up, test_two_left, worker_tear_down);
  g_test_add ("/clients/killed", Fixture, NULL, set_up, test_killed, worker_tear_down);
  return g_test_run ();
}
