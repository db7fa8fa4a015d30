/* The names and shapes of torchvision's networks, as torchvision_nets.py recorded them: those of the graphs are the
 * same, so that a state_dict loads without a map. */
#include <glib.h>

#include "engine/net/loom-net.h"
#include "tests/test-program.h"

/* "64x3x7x7", or "scalar". (transfer full) */
static char *
shape_text (const LoomShape *shape)
{
  GString *text = g_string_new (shape->rank == 0 ? "scalar" : NULL);
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  loom_shape_get (shape, dims);
  for (int i = 0; i < shape->rank; i++)
    g_string_append_printf (text, i > 0 ? "x%" G_GINT64_FORMAT : "%" G_GINT64_FORMAT, dims[i]);
  return g_string_free (text, FALSE);
}

static void
test_names (gconstpointer data)
{
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  g_autofree char *xml = g_strconcat (data, ".xml", NULL), *txt = g_strconcat (data, ".txt", NULL), *recorded = NULL;
  g_autofree char *path = g_build_filename (root, "graphs", "models", xml, NULL),
                  *record = g_build_filename (root, "tests", "reference", "torchvision", txt, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_assert_no_error (error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (GHashTable) theirs = g_hash_table_new (g_str_hash, g_str_equal);

  g_file_get_contents (record, &recorded, NULL, &error);
  g_assert_no_error (error);
  g_auto (GStrv) line = g_strsplit (g_strstrip (recorded), "\n", -1);
  for (guint i = 0; line[i] != NULL; i++)
    {
      char *space = strchr (line[i], ' ');

      g_assert_nonnull (space);
      *space = '\0';
      g_hash_table_insert (theirs, line[i], space + 1);
    }
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      g_autofree char *ours = shape_text (&weight->shape);

      g_test_message ("%s %s", weight->name, ours);
      g_assert_cmpstr (ours, ==, g_hash_table_lookup (theirs, weight->name));
    }
  g_assert_cmpuint (loom_net_n_weights (net), ==, g_hash_table_size (theirs));
}

TEST_FILE (argc, argv)
{
  static const char *const names[] = { "alexnet", "vgg16", "resnet18", "resnet50" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *test = g_strconcat ("/torchvision/", names[i], NULL);

      g_test_add_data_func (test, names[i], test_names);
    }
  return g_test_run ();
}
