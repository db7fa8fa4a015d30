/* SIGINT while `gradloom train` runs: close repeats are one request, a later one ends the run at once.
 *
 * The run's events go to a pipe that is not read, so that it halts in the middle of a step for as long as a case wants
 * and cannot end between two signals. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct
{
  GPid pid;
  int out, err;
} Run;

static int
waiting_bytes (int fd)
{
  int n = 0;
  g_assert_cmpint (ioctl (fd, FIONREAD, &n), ==, 0);
  return n;
}

/* Whether a writer finds no page left. Asked at the pipe's other end, because the bytes in it do not say so: a line
 * that does not fit in the rest of a page leaves that rest empty. */
static bool
is_full (int fd)
{
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
  int end = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  struct pollfd ask = { .fd = end, .events = POLLOUT };

  g_assert_cmpint (end, >=, 0);
  int ready = poll (&ask, 1, 0);
  close (end);
  return ready == 0;
}

/* A run that halts: its pipe is full and has been as it is for a while. A pause alone is no proof on a busy machine. */
static Run
start (const char *out)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  const char *argv[]
      = { program, "train", path, "--epochs", "1000000", "--json", out != NULL ? "--out" : NULL, out, NULL };
  Run run;
  int before = -1, same = 0;

  g_assert_true (g_spawn_async_with_pipes (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &run.pid,
                                           NULL, &run.out, &run.err, NULL));
  for (int i = 0; i < 6000 && same < 20; i++)
    {
      int now = waiting_bytes (run.out);
      same = now == before && is_full (run.out) ? same + 1 : 0;
      before = now;
      g_usleep (10000);
    }
  g_assert_cmpint (same, ==, 20);
  return run;
}

static char *
read_all (int fd)
{
  GString *text = g_string_new (NULL);
  char part[4096];
  gssize n;

  while ((n = read (fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0)
      g_string_append_len (text, part, n);
  close (fd);
  return g_string_free (text, FALSE);
}

static void
end (Run *run, int status, char **out, char **err)
{
  int got;

  *out = read_all (run->out);
  *err = read_all (run->err);
  g_assert_cmpint (waitpid (run->pid, &got, 0), ==, run->pid);
  g_assert_true (WIFEXITED (got));
  g_assert_cmpint (WEXITSTATUS (got), ==, status);
}

static void
test_repeated (void)
{
  Run run = start ("repeated");
  g_autofree char *out = NULL, *err = NULL;

  kill (run.pid, SIGINT);
  g_usleep (20000);
  kill (run.pid, SIGINT);
  g_usleep (20000);
  kill (run.pid, SIGTERM);
  g_usleep (20000);
  end (&run, 130, &out, &err);
  g_assert_nonnull (strstr (err, "Interrupted after step "));
  g_assert_nonnull (strstr (err, "gradloom train --resume repeated"));
  g_assert_true (g_file_test ("repeated/weights.safetensors", G_FILE_TEST_EXISTS));
  g_auto (GStrv) line = g_strsplit (out, "\n", -1);
  for (guint i = 0; line[i] != NULL && line[i][0]; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = json_from_string (line[i], &error);
      g_assert_no_error (error);
    }
}

static void
test_later (gconstpointer data)
{
  const char *folder = data;
  Run run = start (folder);
  g_autofree char *out = NULL, *err = NULL;

  kill (run.pid, SIGINT);
  g_usleep (1300000);
  kill (run.pid, SIGINT);
  end (&run, 130, &out, &err);
  g_assert_nonnull (strstr (err, "Ended at once by a second SIGINT"));
  g_assert_nonnull (strstr (err, folder != NULL
                                     ? "the newest checkpoint are lost. Continue with: gradloom train --resume later"
                                     : "the run has no --out"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/signals/repeated", test_repeated);
  g_test_add_data_func ("/cli/signals/later", "later", test_later);
  g_test_add_data_func ("/cli/signals/later/nothing-kept", NULL, test_later);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
