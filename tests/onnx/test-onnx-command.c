/* `gradloom import` from outside: a model of PyTorch's becomes a graph that checks and runs with its weights. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "engine/interop/loom-npy.h"
#include "engine/interop/loom-tensor-file.h"
#include "engine/onnx/loom-onnx.h"
#include "tests/test-program.h"

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

/* What only the data would tell, and what is no tensor, is refused by a sentence that names it. */
static void
test_control (void)
{
  static const char *const cases[][2] = {
    { "test_loop11", "its number of steps is computed while the model runs" },
    { "test_if_opt", "is a sequence of tensors, but it needs one tensor" },
    { "test_loop13_seq", "is a sequence, a map or an optional value" },
  };
  g_autofree char *graph = in_folder ("control.xml");

  if (!g_file_test (CASES, G_FILE_TEST_IS_DIR))
    {
      g_test_skip ("The cases are not installed (Debian package libonnx-testdata).");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *model = g_strdup_printf ("%s/node/%s/model.onnx", CASES, cases[i][0]), *said = NULL;
      g_assert_cmpint (gradloom (&said, "import", model, "-o", graph, NULL), ==, 1);
      g_assert_nonnull (strstr (said, cases[i][1]));
    }
}

/* The same bits, name by name. */
static void
check_equal (const char *before, const char *after)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) a = loom_safetensors_open (before, &error);
  g_assert_no_error (error);
  g_autoptr (LoomTensorFile) b = loom_safetensors_open (after, &error);
  g_assert_no_error (error);

  g_assert_cmpuint (loom_tensor_file_count (a), ==, loom_tensor_file_count (b));
  for (guint i = 0; i < loom_tensor_file_count (a); i++)
    {
      int at = loom_tensor_file_find (b, loom_tensor_file_name (a, i));

      g_assert_cmpint (at, >=, 0);
      g_autoptr (LoomTensor) x = loom_tensor_file_tensor (a, i, &error),
                             y = loom_tensor_file_tensor (b, (guint)at, &error);
      g_assert_cmpint (x->count, ==, y->count);
      for (gint64 k = 0; k < x->count; k++)
        g_assert_cmpfloat (loom_tensor_get (x, k), ==, loom_tensor_get (y, k));
    }
}

static void
insert (LoomGraph *graph, LoomElement *element)
{
  LoomElement *root = loom_graph_root (graph);

  loom_edit_free (loom_graph_apply (
      graph, loom_edit_insert (root, loom_element_place_for (root, loom_element_tag (element)), element)));
}

/* A model that gets a loss begins from the weights that came with it: those of no epochs are the model's own. */
static void
test_begins (void)
{
  g_autofree char *model = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports",
                                             "mlp-script", "model.onnx", NULL);
  g_autofree char *path = in_folder ("mlp.xml"), *weights = in_folder ("mlp.safetensors"), *said = NULL, *more = NULL,
                  *x_path = in_folder ("ones.npy"), *run = in_folder ("run"),
                  *after = g_build_filename (run, "weights.safetensors", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomElement *root, *train;

  g_assert_cmpint (gradloom (&said, "import", model, "-o", path, NULL), ==, 0);
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_assert_no_error (error);
  root = loom_graph_root (graph);
  train = loom_element_find (root, LOOM_TAG_TRAIN);
  g_assert_nonnull (train);
  g_assert_cmpstr (loom_element_get (train, "weights"), ==, "mlp.safetensors");
  g_autoptr (LoomTensor) x = loom_tensor_new (LOOM_F32, 4, (gint64[]){ 5, 2, 3, 4 }, &error);
  g_assert_no_error (error);
  g_assert_true (loom_npy_save (x_path, x, &error));
  /* The mean square of its output is to become small. */
  loom_edit_free (loom_graph_apply (graph, loom_edit_remove (loom_scope_find_node (root, "input"))));
  insert (graph, loom_element_new (LOOM_TAG_NODE, "id", "input", "op", "dataset", "source", "npy", "x", x_path, NULL));
  insert (graph, loom_element_new (LOOM_TAG_NODE, "id", "square", "op", "square", NULL));
  insert (graph, loom_element_new (LOOM_TAG_NODE, "id", "loss", "op", "mean", NULL));
  insert (graph, loom_element_new (LOOM_TAG_WIRE, "from", "log_softmax", "to", "square", NULL));
  insert (graph, loom_element_new (LOOM_TAG_WIRE, "from", "square", "to", "loss", NULL));
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "loss", "loss")));
  g_assert_true (loom_graph_write_file (graph, path, &error));
  int status = gradloom (&more, "train", path, "--epochs", "0", "--out", run, NULL);
  g_test_message ("%s", more);
  g_assert_cmpint (status, ==, 0);
  check_equal (weights, after);
}

/* What is there is written over only if the user says so: the graph, and the weights next to it. */
static void
test_force (void)
{
  g_autofree char *model = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports",
                                             "mlp-script", "model.onnx", NULL);
  g_autofree char *path = in_folder ("kept.xml"), *weights = in_folder ("kept.safetensors");
  const char *const files[] = { path, weights };

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *said = NULL, *forced = NULL, *text = NULL;

      g_assert_true (g_file_set_contents (files[i], "mine", -1, NULL));
      g_assert_cmpint (gradloom (&said, "import", model, "-o", path, NULL), ==, 2);
      g_assert_nonnull (strstr (said, "exists already. Name another graph with -o, or use --force."));
      g_assert_true (g_file_get_contents (files[i], &text, NULL, NULL));
      g_assert_cmpstr (text, ==, "mine");
      g_assert_false (g_file_test (files[1 - i], G_FILE_TEST_EXISTS));
      g_assert_cmpint (gradloom (&forced, "import", model, "-o", path, "--force", NULL), ==, 0);
      g_unlink (path);
      g_unlink (weights);
    }
}

/* A name from a file gives a terminal no orders. */
static void
test_control_characters (void)
{
  g_autofree char *model = in_folder ("esc.onnx"), *graph = in_folder ("esc.xml"), *said = NULL;
  /* Field 7 is the graph; in it a node (1) with an output (2), a name (3) and an operator (4), and the output (12). */
  static const char bytes[] = "\x3a\x1e\x0a\x17\x12\x01y\x1a\x06\x1b[2J\nx\x22\x0a\x1b]0;t\x07"
                              "Blur"
                              "b\x03\x0a\x01y";

  g_assert_true (g_file_set_contents (model, bytes, sizeof bytes - 1, NULL));
  g_assert_cmpint (gradloom (&said, "import", model, "-o", graph, NULL), ==, 1);
  g_assert_nonnull (strstr (said, "node \\u001b[2J\\nx: \\u001b]0;t\\u0007Blur"));
  g_assert_null (strchr (said, 27));

  /* Nor does the name of the file itself. */
  g_autofree char *good = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports", "mlp-script",
                                            "model.onnx", NULL);
  g_autofree char *odd = in_folder ("a\033[2J.onnx"), *odd_graph = in_folder ("a\033[2J.xml"), *read = NULL,
                  *refused = NULL, *data = NULL;
  gsize length;
  g_assert_true (g_file_get_contents (good, &data, &length, NULL));
  g_assert_true (g_file_set_contents (odd, data, (gssize)length, NULL));
  g_assert_cmpint (gradloom (&read, "import", odd, "-o", odd_graph, NULL), ==, 0);
  g_assert_nonnull (strstr (read, "a\\u001b[2J.onnx, operator set"));
  g_assert_nonnull (strstr (read, "a\\u001b[2J.xml and "));
  g_assert_nonnull (strstr (read, "a\\u001b[2J.safetensors ("));
  g_assert_null (strchr (read, 27));
  g_assert_true (g_file_set_contents (odd, bytes, sizeof bytes - 1, NULL));
  g_assert_cmpint (gradloom (&refused, "import", odd, "-o", odd_graph, "--force", NULL), ==, 1);
  g_assert_nonnull (strstr (refused, "a\\u001b[2J.onnx: node"));
  g_assert_null (strchr (refused, 27));
}

static void
test_refusals (void)
{
  g_autofree char *junk = in_folder ("junk.onnx"), *graph = in_folder ("junk.xml"), *said = NULL, *missing = NULL,
                  *none = NULL, *printed = NULL;
  g_autofree char *nowhere = in_folder ("nowhere.onnx"), *in = in_folder (".");

  g_assert_true (g_file_set_contents (junk, "This is a letter to a friend.", -1, NULL));
  g_assert_cmpint (gradloom (&said, "import", junk, "-o", graph, NULL), ==, 1);
  g_assert_nonnull (strstr (said, "is not an ONNX file"));
  g_assert_false (g_file_test (graph, G_FILE_TEST_EXISTS));
  g_assert_cmpint (gradloom (&missing, "import", nowhere, NULL), ==, 1);
  g_assert_nonnull (strstr (missing, "No such file"));
  g_assert_cmpint (gradloom (&printed, "import", in, NULL), ==, 1);
  g_assert_nonnull (strstr (printed, "it is a folder"));
  g_assert_cmpint (gradloom (&none, "import", NULL), ==, 2);
}

/* A weight that two modules share is stored once, and has both of its names for PyTorch. */
static void
test_tied_names (void)
{
  static const char *const names[] = { "encoder.words.weight", "decoder.words.weight" };
  g_autofree char *model = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports",
                                             "tied-plain", "model.onnx", NULL);
  g_autofree char *graph = in_folder ("tied.xml"), *weights = in_folder ("tied.safetensors"), *said = NULL,
                  *back = in_folder ("back.safetensors"), *more = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (gradloom (&said, "import", model, "-o", graph, NULL), ==, 0);
  g_assert_cmpint (gradloom (&more, "export", graph, "--weights", weights, "--to", "safetensors", "-o", back, NULL), ==,
                   0);
  g_autoptr (LoomTensorFile) from = loom_tensor_file_open (weights, &error);
  g_assert_no_error (error);
  g_autoptr (LoomTensorFile) to = loom_tensor_file_open (back, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_tensor_file_count (to), ==, loom_tensor_file_count (from) + 1);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_cmpint (loom_tensor_file_find (to, names[i]), >=, 0);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradloom-onnx-XXXXXX", NULL);
  g_test_add_func ("/onnx-command/run", test_run);
  g_test_add_func ("/onnx-command/control", test_control);
  g_test_add_func ("/onnx-command/begins", test_begins);
  g_test_add_func ("/onnx-command/force", test_force);
  g_test_add_func ("/onnx-command/control-characters", test_control_characters);
  g_test_add_func ("/onnx-command/refusals", test_refusals);
  g_test_add_func ("/onnx-command/tied-names", test_tied_names);
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
