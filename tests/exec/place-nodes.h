/* Nodes of a random graph on several devices. */
#pragma once

#include "engine/graph/loom-graph.h"

/* Gives a node, with that probability, one of the n devices, in modules too; a loop's body has the one of the loop. */
static inline void
place_nodes (LoomGraph *graph, LoomElement *scope, GRand *rand, const char *const *names, int n, double probability)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE && loom_scope_find_node (e, "h1") == NULL)
        place_nodes (graph, e, rand, names, n, probability);
      else if (loom_element_tag (e) == LOOM_TAG_NODE && g_rand_double (rand) < probability)
        loom_edit_free (loom_graph_apply (graph, loom_edit_set (e, "device", names[g_rand_int_range (rand, 0, n)])));
    }
}
