/* ONNX's own operator cases, from the package libonnx-testdata, all in one process.
 *
 * Cases that pass are listed in passes.txt next to this file; a case of that list that no longer passes fails the test.
 * GRADLOOM_UPDATE=1 writes the list again. A case that fails or is not supported is reported with its reason. Two that
 * are not listed, resize_downsample_scales_{linear,cubic}_align_corners, come of ONNX's reference evaluator, which
 * takes the size before it is rounded; ONNX's text, onnxruntime and PyTorch take the size of the result. */
#include "tests/onnx/onnx-case.h"
#include "tests/test-program.h"

#include <stdlib.h>
#include <string.h>

#define DATA_FOLDER "/usr/share/libonnx-testdata/data"

typedef struct
{
  LoomDevices *devices;
  char *list_path;
  GHashTable *listed;
  GPtrArray *passed;
} Fixture;

static Fixture fixture;

static const char *
data_folder (void)
{
  const char *other = g_getenv ("GRADLOOM_ONNX_DATA");

  return other != NULL ? other : DATA_FOLDER;
}

static int
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *
names_in (const char *folder)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    g_ptr_array_add (names, g_strdup (name));
  g_ptr_array_sort (names, by_name);
  return names;
}

static gboolean
is_update (void)
{
  return g_strcmp0 (g_getenv ("GRADLOOM_UPDATE"), "1") == 0;
}

static void
test_group (gconstpointer user_data)
{
  const char *group = user_data, *only = g_getenv ("GRADLOOM_ONNX_ONLY");
  g_autofree char *folder = g_build_filename (data_folder (), group, NULL);
  g_autoptr (GPtrArray) names = NULL, lost = g_ptr_array_new_with_free_func (g_free);
  guint count[3] = { 0 };

  if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
    {
      g_test_skip ("The cases are not installed (Debian package libonnx-testdata).");
      return;
    }
  names = names_in (folder);
  for (guint i = 0; i < names->len; i++)
    {
      static const char *const words[] = { "passed", "FAILED", "unsupported" };
      g_autofree char *path = g_build_filename (folder, names->pdata[i], NULL), *why = NULL;
      g_autofree char *name = g_strdup_printf ("%s/%s", group, (const char *)names->pdata[i]);
      if (only != NULL && !g_pattern_match_simple (only, names->pdata[i]))
        continue;
      CaseVerdict verdict = case_run (fixture.devices, path, &why);
      count[verdict]++;
      if (verdict != CASE_PASSED)
        g_test_message ("%s %s: %s", words[verdict], name, why);
      if (verdict == CASE_PASSED)
        g_ptr_array_add (fixture.passed, g_strdup (name));
      else if (g_hash_table_contains (fixture.listed, name))
        g_ptr_array_add (lost, g_strdup_printf ("%s: %s", name, why));
    }
  g_test_message ("%s: %u passed, %u failed, %u unsupported", group, count[0], count[1], count[2]);
  for (guint i = 0; i < lost->len && !is_update (); i++)
    g_test_message ("passed once, and does no more: %s", (char *)lost->pdata[i]);
  if (!is_update ())
    g_assert_cmpuint (lost->len, ==, 0);
}

/* The list is of ONNX 1.12. Later versions renamed or removed cases, of which 1.13 is known by one that it added. */
#define LATER "test_col2im"

/* A case of the list that is not there any more would else be lost without a word. */
static void
test_list (void)
{
  g_autofree char *node = g_build_filename (data_folder (), "node", NULL);
  guint fresh = 0, missing = 0;
  GHashTableIter iter;
  gpointer key;

  if (!g_file_test (node, G_FILE_TEST_IS_DIR))
    {
      g_test_skip ("The cases are not installed (Debian package libonnx-testdata).");
      return;
    }
  if (is_update ())
    {
      g_autoptr (GString) text = g_string_new (NULL);
      g_autoptr (GError) error = NULL;
      g_ptr_array_sort (fixture.passed, by_name);
      for (guint i = 0; i < fixture.passed->len; i++)
        g_string_append_printf (text, "%s\n", (char *)fixture.passed->pdata[i]);
      g_file_set_contents (fixture.list_path, text->str, (gssize)text->len, &error);
      g_assert_no_error (error);
      return;
    }
  for (guint i = 0; i < fixture.passed->len; i++)
    fresh += !g_hash_table_contains (fixture.listed, fixture.passed->pdata[i]);
  if (fresh > 0)
    g_test_message ("%u cases pass that are not in passes.txt; GRADLOOM_UPDATE=1 adds them", fresh);
  g_hash_table_iter_init (&iter, fixture.listed);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      g_autofree char *path = g_build_filename (data_folder (), key, NULL);
      if (!g_file_test (path, G_FILE_TEST_IS_DIR))
        {
          g_test_message ("%s is listed, but there is no such case", (char *)key);
          missing++;
        }
    }
  g_autofree char *later = g_build_filename (node, LATER, NULL);
  if (missing > 0 && g_file_test (later, G_FILE_TEST_IS_DIR))
    g_test_skip_printf ("%u cases of ONNX 1.12 are not in the later version that is installed.", missing);
  else
    g_assert_cmpuint (missing, ==, 0);
}

static void
read_list (void)
{
  g_autofree char *text = NULL;

  fixture.list_path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "passes.txt", NULL);
  fixture.listed = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!g_file_get_contents (fixture.list_path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i])
      g_hash_table_add (fixture.listed, g_strdup (lines[i]));
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  read_list ();
  fixture.devices = loom_devices_new (1);
  fixture.passed = g_ptr_array_new_with_free_func (g_free);
  g_test_add_data_func ("/onnx/node", "node", test_group);
  g_test_add_data_func ("/onnx/pytorch-converted", "pytorch-converted", test_group);
  g_test_add_data_func ("/onnx/pytorch-operator", "pytorch-operator", test_group);
  g_test_add_data_func ("/onnx/simple", "simple", test_group);
  g_test_add_func ("/onnx/list", test_list);
  status = g_test_run ();
  loom_devices_unref (fixture.devices);
  g_ptr_array_unref (fixture.passed);
  g_hash_table_unref (fixture.listed);
  g_free (fixture.list_path);
  return status;
}
