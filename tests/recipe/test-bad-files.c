/* Every file in tests/recipe/bad has a different fault; the file next to it has the expected messages. Run with
 * GRADLOOM_UPDATE=1 to write the messages again, and read the difference before committing it. */
#include "engine/lesson/loom-lesson.h"
#include "engine/lesson/loom-slides.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"
#include "tests/graph/graph-test.h"
#include "tests/test-program.h"

#include <string.h>

static void
test_file (gconstpointer data)
{
  const char *name = data;
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests/recipe/bad", name, NULL);
  g_autofree char *text = NULL, *golden = NULL, *said = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  gsize length;

  g_file_get_contents (path, &text, &length, &error);
  g_assert_no_error (error);
  graph = loom_graph_read_data (text, length, name, faults, &error);
  if (graph != NULL)
    {
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
      g_autoptr (GPtrArray) lessons = loom_lessons_new (graph, faults);
      g_autoptr (GPtrArray) slides = loom_slides_new (graph, faults);

      said = faults_as_text (faults);
      g_assert_cmpuint (loom_faults_length (faults), >, 0);
    }
  else
    said = g_strdup_printf ("%s: %s\n", loom_error_code_name (error->code), error->message);
  golden = g_strdup_printf ("tests/recipe/bad/%.*s.expected", (int)strlen (name) - 4, name);
  assert_golden (golden, said);
}

TEST_FILE (argc, argv)
{
  g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests/recipe/bad", NULL);
  g_autoptr (GDir) dir = NULL;
  const char *name;
  guint n = 0;

  g_test_init (&argc, &argv, NULL);
  dir = g_dir_open (folder, 0, NULL);
  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".xml"))
      {
        g_autofree char *test_path = g_strdup_printf ("/bad-files/%.*s", (int)strlen (name) - 4, name);

        g_test_add_data_func_full (test_path, g_strdup (name), test_file, g_free);
        n++;
      }
  g_assert_cmpuint (n, >, 20);
  return g_test_run ();
}
