/* Shrinks a graph while it keeps a property. */
#pragma once

#include "engine/graph/loom-graph.h"

/* TRUE if the graph still has the property, such as a wrong plan. */
typedef gboolean (*ShrinkTest) (const LoomGraph *graph, gpointer data);

/* A graph with the property from which nothing can be taken: no node, wire, module, attribute, or element of <train>.
 * Sources that are cut off become input nodes. (transfer full) */
LoomGraph *shrink_graph (const LoomGraph *graph, ShrinkTest test, gpointer data);
/* All <node> elements, those of modules too. */
guint shrink_count_nodes (const LoomGraph *graph);
