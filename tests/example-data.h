/* Which of the example graphs cannot be tested, because their data are not on this machine: translations of programs,
 * for instance, which images of containers leave out. */
#pragma once

#include "engine/net/loom-net.h"

static inline gboolean
example_lacks_data (const char *path)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
  g_autoptr (LoomNet) net = graph != NULL ? loom_net_new (graph, NULL, faults) : NULL;

  for (guint i = 0; net != NULL && i < loom_faults_length (faults); i++)
    if (loom_faults_get (faults, i)->code == LOOM_ERROR_DATA)
      return TRUE;
  return FALSE;
}

/* The test in the place of the others of such a graph. */
static inline void
example_skip (gconstpointer path)
{
  g_test_skip ("its data are not on this machine");
}

/* Adds a test of each graph of a folder and of those in it, PREFIX/FILE, which gets the graph's path. */
static inline void
example_add_folder (const char *prefix, const char *folder, GTestDataFunc test)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL), *label = g_strdup_printf ("%s/%s", prefix, name);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        example_add_folder (prefix, path, test);
      else if (g_str_has_suffix (name, ".xml"))
        {
          GTestDataFunc func = example_lacks_data (path) ? example_skip : test;

          g_test_add_data_func_full (label, g_steal_pointer (&path), func, g_free);
        }
    }
}
