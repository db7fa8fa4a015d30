/* A digest of a graph's meaning that is kept up to date through edits.
 *
 * loom_graph_hash() reads every attribute, which takes longer at 2,000 nodes than typing them again after an edit. A
 * digest is combined from those of the elements, and only elements that an edit has changed are read. It compares
 * versions of graphs within one process, and is stored nowhere. */
#pragma once

#include "engine/graph/loom-graph.h"

/* 128 bits, as text. Equal for graphs with equal loom_graph_hash(), and different for others but by chance. A frozen
 * graph may be digested on any thread. (transfer full) */
char *loom_graph_digest (const LoomGraph *graph);
