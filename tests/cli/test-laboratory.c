/* `gradloom bench` and others are run by the program gradloom-lab: how it is found, that it replaces the process, and
 * the message if it is missing. A script replaces it next to a copy of gradloom. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* An executable script next to the copy, as in a build. */
static void
write_script (const char *text)
{
  g_assert_cmpint (g_mkdir_with_parents ("copy/lab", 0755), ==, 0);
  cli_write ("copy/lab/gradloom-lab", text);
  g_assert_cmpint (g_chmod ("copy/lab/gradloom-lab", 0755), ==, 0);
}

/* The status as from waitpid(). out and err: the output; pid may be NULL. (transfer full) */
static int
run_copy (const char *const *words, GPid *pid, char **out, char **err)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *program = g_canonicalize_filename ("copy/gradloom", NULL);
  GPid child;
  int status;

  g_ptr_array_add (argv, program);
  for (; *words != NULL; words++)
    g_ptr_array_add (argv, (gpointer)*words);
  g_ptr_array_add (argv, NULL);
  /* Files instead of pipes, so that the output needs no reader. */
  int to = g_open ("out", O_CREAT | O_TRUNC | O_WRONLY, 0600),
      errors = g_open ("err", O_CREAT | O_TRUNC | O_WRONLY, 0600);
  g_spawn_async_with_fds (NULL, (char **)argv->pdata, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &child, -1, to,
                          errors, &error);
  g_assert_no_error (error);
  close (to);
  close (errors);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  if (pid != NULL)
    *pid = child;
  g_assert_true (g_file_get_contents ("out", out, NULL, NULL));
  g_assert_true (g_file_get_contents ("err", err, NULL, NULL));
  return status;
}

/* Both tables name the same commands, and the help of gradloom has the laboratory's own text of each. */
static void
test_table (void)
{
  static const char *const names[] = { "bench", "transfer", "simulate", "sweep" };
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "lab", "gradloom-lab", NULL);
  const char *argv[] = { program, "--commands", NULL };
  g_autofree char *out = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (CliResult) help = cli ("--help", NULL);

  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL, NULL, &error);
  g_assert_no_error (error);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *described = g_strdup_printf ("{\"event\":\"command\",\"name\":\"%s\",", names[i]);
      g_autofree char *listed = g_strdup_printf ("\n  %-9s ", names[i]);

      g_assert_true (g_str_has_prefix (lines[i], described));
      g_assert_nonnull (strstr (help.out, listed));
    }
  g_assert_null (strstr (help.out, "missing"));
}

/* The same process, with all words as they are; its status and its signal are the command's. */
static void
test_becomes (void)
{
  static const char *const words[] = { "bench", "a b", "--json", "", NULL };
  static const char *const killed[] = { "sweep", NULL };
  g_autofree char *out = NULL, *err = NULL, *out2 = NULL, *err2 = NULL;
  GPid pid;

  write_script ("#!/bin/sh\necho $$; for w; do echo \"[$w]\"; done; exit 7\n");
  int status = run_copy (words, &pid, &out, &err);
  g_autofree char *expected = g_strdup_printf ("%d\n[bench]\n[a b]\n[--json]\n[]\n", pid);
  g_assert_cmpstr (err, ==, "");
  g_assert_cmpstr (out, ==, expected);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 7);

  write_script ("#!/bin/sh\nkill -TERM $$\n");
  status = run_copy (killed, NULL, &out2, &err2);
  g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGTERM);
}

/* --gradcheck passes the options, and is not confused by names that look like options. */
static void
test_gradcheck (void)
{
  static const char *const words[]
      = { "check", "--gradcheck", "--json", "--batch-size", "4", "--in", "x=-f.npy", "--", "-graph.xml", "node", NULL };
  g_autofree char *out = NULL, *err = NULL;

  write_script ("#!/bin/sh\necho \"$*\"; exit 1\n");
  int status = run_copy (words, NULL, &out, &err);
  g_assert_cmpstr (out, ==, "check --batch-size=4 --json --in=x=-f.npy -- -graph.xml node\n");
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 1);
}

/* Without the program the other commands work, PATH is not searched, and help reports the missing program. */
static void
test_missing (void)
{
  static const char *const bench[] = { "bench", "graph.xml", NULL };
  static const char *const help[] = { "--help", NULL };
  g_autofree char *out = NULL, *err = NULL, *out2 = NULL, *err2 = NULL, *out3 = NULL, *err3 = NULL;
  g_autofree char *here = g_get_current_dir (), *elsewhere = g_build_filename (here, "elsewhere", NULL);
  g_autofree char *path = g_strdup_printf ("%s:%s", elsewhere, g_getenv ("PATH")),
                  *before = g_strdup (g_getenv ("PATH"));

  if (g_file_test (LABORATORY_DIR "/gradloom-lab", G_FILE_TEST_EXISTS))
    {
      g_test_skip ("the program is installed, and the copy finds that one");
      return;
    }
  write_script ("#!/bin/sh\necho ran\n");
  g_assert_cmpint (g_rename ("copy/lab", "elsewhere"), ==, 0);
  g_setenv ("PATH", path, TRUE);
  int status = run_copy (bench, NULL, &out, &err);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 5);
  g_assert_cmpstr (out, ==, "");
  g_assert_true (
      g_str_has_prefix (err, "gradloom bench: The program gradloom-lab is neither next to this one nor in /"));
  status = run_copy (help, NULL, &out2, &err2);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  g_assert_nonnull (strstr (out2, "\n  train     "));
  g_assert_nonnull (strstr (out2, "\n  bench     (the program gradloom-lab is missing)\n"));
  g_setenv ("PATH", before, TRUE);

  /* Nor is a program started that others can change. */
  g_assert_cmpint (g_rename ("elsewhere", "copy/lab"), ==, 0);
  g_assert_cmpint (g_chmod ("copy/lab/gradloom-lab", 0777), ==, 0);
  status = run_copy (bench, NULL, &out3, &err3);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 5);
  g_assert_cmpstr (out3, ==, "");
  g_assert_nonnull (strstr (err3, "/copy/lab/gradloom-lab was not started because other users can change it"));
}

TEST_FILE (argc, argv)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *text = NULL;
  gsize length;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_assert_cmpint (g_mkdir ("copy", 0755), ==, 0);
  g_assert_true (g_file_get_contents (program, &text, &length, NULL));
  g_assert_true (
      g_file_set_contents_full ("copy/gradloom", text, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
  g_test_add_func ("/cli/laboratory/table", test_table);
  g_test_add_func ("/cli/laboratory/becomes", test_becomes);
  g_test_add_func ("/cli/laboratory/gradcheck", test_gradcheck);
  g_test_add_func ("/cli/laboratory/missing", test_missing);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
