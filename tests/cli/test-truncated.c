/* A mapped file that becomes shorter while it is read: a sentence with its name, and the exit status that was chosen.
 */
#include "app/shared/truncated.h"
#include "tests/test-program.h"

#include "engine/core/loom-file.h"

#include <glib/gstdio.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES  4
#define STATUS 5

/* Runs child() with this path in a separate process; returns its status as from waitpid(), and its output. */
static int
run (void (*child) (const char *path), const char *path, char said[1024])
{
  int ends[2], status;
  gsize n = 0;
  ssize_t got;

  g_assert_cmpint (pipe (ends), ==, 0);
  const pid_t pid = fork ();
  if (pid == 0)
    {
      dup2 (ends[1], STDERR_FILENO);
      close (ends[0]);
      close (ends[1]);
      truncated_exit_with ("gradloom-studio", STATUS);
      child (path);
      _exit (0);
    }
  close (ends[1]);
  while (n < 1023 && (got = read (ends[0], said + n, 1023 - n)) > 0)
    n += (gsize)got;
  said[n] = 0;
  close (ends[0]);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return status;
}

static void
read_truncated (const char *path)
{
  g_autoptr (GMappedFile) file = loom_file_map (path, NULL);
  const volatile char *data = g_mapped_file_get_contents (file);

  if (truncate (path, 1) != 0 || data[(PAGES - 1) * sysconf (_SC_PAGESIZE)] != 0)
    _exit (1);
}

static void
test_file (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-truncated-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a file.npy", NULL),
                  *start = g_strdup_printf ("gradloom-studio: “%s” ", path);
  const gsize size = (gsize)PAGES * (gsize)sysconf (_SC_PAGESIZE);
  g_autofree char *content = g_malloc0 (size);
  char said[1024];

  g_assert_true (g_file_set_contents (path, content, (gssize)size, NULL));
  const int status = run (read_truncated, path, said);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, STATUS);
  g_assert_true (g_str_has_prefix (said, start));
  g_assert_nonnull (strstr (said, "was truncated by another program"));
  g_unlink (path);
  g_rmdir (folder);
}

static void
raise_bus (const char *path)
{
  raise (SIGBUS);
}

/* Another bus error ends the process as it did. */
static void
test_other (void)
{
  char said[1024];
  const int status = run (raise_bus, NULL, said);

  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (WTERMSIG (status), ==, SIGBUS);
  g_assert_cmpstr (said, ==, "");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/truncated/file", test_file);
  g_test_add_func ("/truncated/other", test_other);
  return g_test_run ();
}
