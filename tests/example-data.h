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
