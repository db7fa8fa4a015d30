/* Nodes that use several modules: a switch, which names them in a list. Of other nodes these say what
 * loom_node_module() does, which gives a switch's first. */
#pragma once

#include "engine/graph/loom-graph.h"

G_BEGIN_DECLS

/* How many modules a node uses, and their names (of a switch interned). */
guint loom_node_n_modules (const LoomElement *node);
const char *loom_node_nth_module (const LoomElement *node, guint n);
gboolean loom_node_uses_module (const LoomElement *node, const char *module);
/* TRUE for a node whose modules have numbers in paths: "choice.0.fc". */
gboolean loom_node_numbers_modules (const LoomElement *node);
/* The module that the part of a path after a node leads into: of a switch part is the number of one. NULL for none. */
const char *loom_node_module_at (const LoomElement *node, const char *part);
/* The text of loom_node_module_attribute() with another name in the place of the n-th module's. (transfer full) */
char *loom_node_rename_module (const LoomElement *node, guint n, const char *now);

G_END_DECLS
