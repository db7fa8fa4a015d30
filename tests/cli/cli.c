#include "tests/cli/cli.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *scratch;

CliResult
cli_argv (const char *const *words)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  CliResult r = { 0 };
  int status;

  g_ptr_array_add (argv, program);
  for (; *words != NULL; words++)
    g_ptr_array_add (argv, (gpointer)*words);
  g_ptr_array_add (argv, NULL);
  g_spawn_sync (NULL, (char **)argv->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &r.out, &r.err, &status, &error);
  g_assert_no_error (error);
  r.status = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
  return r;
}

CliResult
cli (const char *word, ...)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  va_list args;

  va_start (args, word);
  for (const char *w = word; w != NULL; w = va_arg (args, const char *))
    g_ptr_array_add (words, (gpointer)w);
  va_end (args);
  g_ptr_array_add (words, NULL);
  return cli_argv ((const char *const *)words->pdata);
}

void
cli_clear (CliResult *r)
{
  g_free (r->out);
  g_free (r->err);
}

gboolean
cli_has_mpi (void)
{
  g_autofree char *mpirun = g_find_program_in_path ("mpirun");
  g_autofree char *module = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "kernels", "comm", "loom-mpi.so", NULL);

  if (mpirun == NULL || !g_file_test (module, G_FILE_TEST_EXISTS))
    g_test_skip (mpirun == NULL ? "there is no mpirun" : "this build has no MPI");
  return mpirun != NULL && g_file_test (module, G_FILE_TEST_EXISTS);
}

void
cli_enter (void)
{
  g_autoptr (GError) error = NULL;
  scratch = g_dir_make_tmp ("gradloom-cli-XXXXXX", &error);
  g_assert_no_error (error);
  g_assert_cmpint (g_chdir (scratch), ==, 0);
}

void
cli_remove (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      cli_remove (child);
    }
  g_remove (path);
}

void
cli_leave (void)
{
  g_assert_cmpint (g_chdir ("/"), ==, 0);
  cli_remove (scratch);
  g_free (scratch);
}

char *
cli_example (const char *name)
{
  return g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", name, NULL);
}

void
cli_write (const char *name, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_file_set_contents (name, text, -1, &error);
  g_assert_no_error (error);
}

void
cli_save (const char *name, LoomDType dtype, int rank, const gint64 *dims, const double *values)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, rank, dims, &error);

  g_assert_no_error (error);
  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, values[i]);
  loom_npy_save (name, t, &error);
  g_assert_no_error (error);
}

LoomTensor *
cli_load (const char *name)
{
  g_autoptr (GError) error = NULL;
  LoomTensor *t = loom_npy_load (name, &error);
  g_assert_no_error (error);
  return t;
}

LoomTensor *
cli_weight (const char *file, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) s = loom_safetensors_open (file, &error);
  g_assert_no_error (error);
  int i = loom_tensor_file_find (s, name);
  return i < 0 ? NULL : loom_tensor_file_tensor (s, i, NULL);
}
