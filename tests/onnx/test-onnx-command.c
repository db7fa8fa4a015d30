/* `gradloom import` from outside: a model of PyTorch's becomes a graph that checks and runs with its weights. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "engine/interop/loom-npy.h"
#include "engine/onnx/loom-onnx.h"

#define CASES "/usr/share/libonnx-testdata/data"

static char *folder;

static char *
in_folder (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

/* Runs gradloom with these words; the exit status, and what it said on standard output and error. */
static int G_GNUC_NULL_TERMINATED
gradloom (char **said, const char *first, ...)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr (GError) error = NULL;
  va_list words;
  int status;

  g_ptr_array_add (argv, g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL));
  va_start (words, first);
  for (const char *word = first; word != NULL; word = va_arg (words, const char *))
    g_ptr_array_add (argv, g_strdup (word));
  va_end (words);
  g_ptr_array_add (argv, NULL);
  g_spawn_sync (NULL, (char **)argv->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status, &error);
  g_assert_no_error (error);
  *said = g_strconcat (out, err, NULL);
  return WEXITSTATUS (status);
}

static void
test_run (void)
{
  const char *model = CASES "/pytorch-converted/test_Conv2d/model.onnx";
  const char *data = CASES "/pytorch-converted/test_Conv2d/test_data_set_0";
  g_autofree char *graph = in_folder ("conv.xml"), *weights = in_folder ("conv.safetensors"), *said = NULL,
                  *x_path = in_folder ("x.npy"), *y_path = in_folder ("y.npy"), *more = NULL, *third = NULL;
  g_autofree char *input = g_build_filename (data, "input_0.pb", NULL),
                  *output = g_build_filename (data, "output_0.pb", NULL), *in = NULL, *out = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_file_test (model, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("The cases are not installed (Debian package libonnx-testdata).");
      return;
    }
  g_assert_cmpint (gradloom (&said, "import", model, "-o", graph, NULL), ==, 0);
  g_assert_nonnull (strstr (said, "Conv → conv2d"));
  g_assert_nonnull (strstr (said, "--weights"));
  g_assert_cmpint (gradloom (&more, "check", graph, NULL), ==, 0);

  g_autoptr (LoomTensor) x = loom_onnx_read_tensor (input, NULL, &error);
  g_autoptr (LoomTensor) y = loom_onnx_read_tensor (output, NULL, &error);
  g_assert_no_error (error);
  loom_npy_save (x_path, x, &error);
  g_assert_no_error (error);
  in = g_strconcat ("0=", x_path, NULL);
  out = g_strconcat ("3=", y_path, NULL);
  int status = gradloom (&third, "run", graph, "--weights", weights, "--in", in, "--out", out, NULL);
  g_assert_cmpstr (third, ==, "");
  g_assert_cmpint (status, ==, 0);
  g_autoptr (LoomTensor) got = loom_npy_load (y_path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (got->count, ==, y->count);
  for (gint64 i = 0; i < y->count; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (got, i), loom_tensor_get (y, i), 1e-5);
}

static void
test_refusals (void)
{
  g_autofree char *junk = in_folder ("junk.onnx"), *graph = in_folder ("junk.xml"), *said = NULL, *missing = NULL,
                  *none = NULL, *told = NULL;
  g_autofree char *nowhere = in_folder ("nowhere.onnx"), *in = in_folder (".");

  g_assert_true (g_file_set_contents (junk, "This is a letter to a friend.", -1, NULL));
  g_assert_cmpint (gradloom (&said, "import", junk, "-o", graph, NULL), ==, 1);
  g_assert_nonnull (strstr (said, "is no ONNX file"));
  g_assert_false (g_file_test (graph, G_FILE_TEST_EXISTS));
  g_assert_cmpint (gradloom (&missing, "import", nowhere, NULL), ==, 1);
  g_assert_nonnull (strstr (missing, "No such file"));
  g_assert_cmpint (gradloom (&told, "import", in, NULL), ==, 1);
  g_assert_nonnull (strstr (told, "it is a folder"));
  g_assert_cmpint (gradloom (&none, "import", NULL), ==, 2);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradloom-onnx-XXXXXX", NULL);
  g_test_add_func ("/onnx-command/run", test_run);
  g_test_add_func ("/onnx-command/refusals", test_refusals);
  status = g_test_run ();
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name (dir)))
    {
      g_autofree char *path = in_folder (name);
      g_unlink (path);
    }
  g_rmdir (folder);
  g_free (folder);
  return status;
}
