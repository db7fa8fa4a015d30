/* The `main` of a box's test program: `test-BOX FILE ARGUMENTS…` runs the cases of tests/BOX/test-FILE.c.
 *
 * One program per box is linked once instead of once per file. Each run is still one file in a process of its own, so a
 * file sets up its environment freely, and a crash costs and names that file alone. Without FILE all files run in turn,
 * each in a process, with the same arguments: `test-plan -l` lists all cases, `test-plan -p /plan/passes` runs one. */
#include "tests/test-program.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct
{
  const char *name; /* not terminated by the file's ".c", see `length` */
  gsize length;
  int (*run) (int argc, char **argv);
} TestFile;

static TestFile files[128];
static guint n_files;

void
test_program_add (const char *path, int (*run) (int argc, char **argv))
{
  const char *name = strrchr (path, '/');
  const char *end;

  name = name == NULL ? path : name + 1;
  if (strncmp (name, "test-", 5) == 0)
    name += 5;
  end = strrchr (name, '.');
  g_assert (n_files < G_N_ELEMENTS (files));
  files[n_files++]
      = (TestFile){ .name = name, .length = end == NULL ? strlen (name) : (gsize)(end - name), .run = run };
}

static const TestFile *
find_file (const char *name)
{
  for (guint i = 0; name != NULL && i < n_files; i++)
    if (strlen (name) == files[i].length && strncmp (files[i].name, name, files[i].length) == 0)
      return &files[i];
  return NULL;
}

static int
run_file (const TestFile *file, int argc, char **argv)
{
  g_autofree char *name = g_strndup (file->name, file->length);

  /* A test that starts its own program again need not know which file it is. */
  g_setenv ("GRADLOOM_TEST_FILE", name, TRUE);
  return file->run (argc, argv);
}

/* Runs every file in a process of its own; returns whether one failed. */
static int
run_all (int argc, char **argv)
{
  int failed = 0;

  for (guint i = 0; i < n_files; i++)
    {
      int status = 0;
      pid_t child;

      fflush (stdout);
      child = fork ();
      if (child == 0)
        exit (run_file (&files[i], argc, argv));
      if (child < 0 || waitpid (child, &status, 0) != child || !WIFEXITED (status)
          || (WEXITSTATUS (status) != 0 && WEXITSTATUS (status) != 77))
        {
          g_printerr ("%.*s failed\n", (int)files[i].length, files[i].name);
          failed = 1;
        }
    }
  return failed;
}

int
main (int argc, char **argv)
{
  const TestFile *file = find_file (argc > 1 ? argv[1] : NULL);

  if (file != NULL)
    {
      argv[1] = argv[0];
      return run_file (file, argc - 1, argv + 1);
    }
  file = find_file (g_getenv ("GRADLOOM_TEST_FILE"));
  if (file != NULL)
    return run_file (file, argc, argv);
  if (argc == 1 || argv[1][0] == '-')
    return run_all (argc, argv);
  g_printerr ("There is no test file %s; there are:\n", argv[1]);
  for (guint i = 0; i < n_files; i++)
    g_printerr ("  %.*s\n", (int)files[i].length, files[i].name);
  return 2;
}
