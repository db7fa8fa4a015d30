/* The connection of the worker: prints of libraries before the magic line and after it, a client that no longer reads,
 * the end of input, and a worker that is killed. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

/* Studio has exited: the run finishes its step, writes a checkpoint, and the process exits. */
static void
test_end_of_input (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (f->last_step > 10);
  g_dbus_connection_close_sync (f->connection, NULL, NULL);
  int status = worker_reap (f);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_autofree char *weights = g_build_filename (f->folder, "run", "weights.safetensors", NULL);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
}

/* A killed worker is detected at once, and another one resumes the run. */
static void
test_kill (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  g_autofree char *program = worker_program ();
  const char *argv[] = { program, "worker", NULL };
  Fixture next = { 0 };

  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (f->last_step > 10);
  CALL (f, checkpoint, &path);
  gint64 seen = g_ascii_strtoll (strrchr (path, '/') + 1, NULL, 10);
  kill (f->pid, SIGKILL);
  WAIT_UNTIL (f->closed);
  worker_reap (f);

  worker_spawn (&next, argv);
  remove_tree (next.folder);
  g_free (next.folder);
  next.folder = g_strdup (f->folder);
  g_autofree char *noise = worker_read_magic (next.out);
  worker_connect (&next);
  worker_start (&next, 0, TRUE, TRUE, &error);
  g_assert_no_error (error);
  WAIT_UNTIL (worker_state_is (&next, "paused"));
  CALL (&next, step_batch);
  WAIT_UNTIL (next.points == 1);
  g_assert_cmpint (next.last_step, >, seen);
  worker_tear_down (&next, NULL);
}

static gint64
resident_kib (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)pid);
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return g_ascii_strtoll (strstr (text, "VmRSS:") + strlen ("VmRSS:"), NULL, 10);
}

static gint64
events_length (Fixture *f)
{
  g_autofree char *path = g_build_filename (f->folder, "run", "events.jsonl", NULL);
  GStatBuf st;

  g_assert_cmpint (g_stat (path, &st), ==, 0);
  return st.st_size;
}

#define MORE_EVENTS 2000000 /* bytes, */
#define SAME_KIB    10240   /* for which a worker without bounds takes twice as much */

/* Waits until the run has written `length` bytes. */
static void
wait_for_events (Fixture *f, gint64 length)
{
  gint64 had = -1, now, since = 0;

  while ((now = events_length (f)) < length)
    {
      if (now > had)
        since = g_get_monotonic_time ();
      else if (g_get_monotonic_time () - since > (gint64)WAIT_MS * 1000)
        g_error ("the run does not train on");
      had = now;
      g_usleep (10000);
    }
}

/* A stopped Studio: a client that starts a long run and then stops. It is this program again, in a separate process,
 * because a forked one would have lost GDBus's thread. */
static int
be_client (const char *in, const char *out, const char *folder)
{
  Fixture f = { .in = atoi (in), .out = atoi (out), .states = g_string_new (NULL) };

  f.folder = g_strdup (folder);
  worker_connect (&f);
  worker_load (&f, worker_graph, 0);
  worker_start_ok (&f, 200000, FALSE);
  WAIT_UNTIL (f.last_step > 10);
  raise (SIGSTOP);
  return 0;
}

static void
test_stalled_client (Fixture *f, gconstpointer data)
{
  g_autofree char *program = worker_program ();
  const char *argv[] = { program, "worker", NULL };
  gint64 early, late;
  guint n = 0;
  int status;

  worker_spawn (f, argv);
  g_autofree char *noise = worker_read_magic (f->out);
  g_autofree char *in = g_strdup_printf ("%d", f->in), *out = g_strdup_printf ("%d", f->out);
  pid_t client = fork ();
  if (client == 0)
    {
      fcntl (f->in, F_SETFD, 0);
      fcntl (f->out, F_SETFD, 0);
      execl ("/proc/self/exe", "test-worker", "--client", in, out, f->folder, NULL);
      _exit (127);
    }
  close (f->in);
  close (f->out);
  g_assert_cmpint (waitpid (client, &status, WUNTRACED), ==, client);
  g_assert_true (WIFSTOPPED (status));

  /* All bounded buffers fill first: the pipe, the batch in flight, the pending points. Then memory stays as it is,
   * while the run trains on. */
  late = resident_kib (f->pid);
  do
    {
      early = late;
      wait_for_events (f, events_length (f) + MORE_EVENTS);
      late = resident_kib (f->pid);
      g_test_message ("resident: %" G_GINT64_FORMAT " KiB, later %" G_GINT64_FORMAT " KiB", early, late);
      g_assert_cmpuint (++n, <, 8);
    }
  while (late - early > SAME_KIB);

  kill (client, SIGKILL);
  waitpid (client, &status, 0);
  status = worker_reap (f);
  g_assert_true (WIFEXITED (status));
}

/* A library that prints before main() writes into the pipe, one that prints later does not. */
static void
test_stray_prints (Fixture *f, gconstpointer data)
{
  g_autofree char *program = worker_program ();
  g_autofree char *script = g_strdup_printf ("echo stray; exec '%s' worker", program);
  const char *argv[] = { "/bin/sh", "-c", script, NULL };

  /* oneDNN prints a line for each primitive it runs: to standard output. */
  g_setenv ("DNNL_VERBOSE", "1", TRUE);
  worker_spawn (f, argv);
  g_unsetenv ("DNNL_VERBOSE");
  g_autofree char *noise = worker_read_magic (f->out);
  g_assert_true (g_str_has_prefix (noise, "stray\n"));
  worker_connect (f);
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 2, FALSE);
  WAIT_UNTIL (worker_state_is (f, "done"));
  g_assert_false (f->closed);
}

TEST_FILE (argc, argv)
{
  if (argc == 5 && g_str_equal (argv[1], "--client"))
    return be_client (argv[2], argv[3], argv[4]);
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/end-of-input", Fixture, NULL, worker_set_up, test_end_of_input, worker_tear_down);
  g_test_add ("/worker/kill", Fixture, NULL, worker_set_up, test_kill, worker_tear_down);
  g_test_add ("/worker/stray-prints", Fixture, NULL, NULL, test_stray_prints, worker_tear_down);
  g_test_add ("/worker/stalled-client", Fixture, NULL, NULL, test_stalled_client, worker_tear_down);
  return g_test_run ();
}
