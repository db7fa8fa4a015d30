/* Nodes that use several modules: a switch, which names them in a list. For other nodes, these functions return the
 * module of loom_node_module(). */
#pragma once

#include "engine/graph/loom-graph.h"

/* The number of modules that a node uses, and their names (interned for a switch). */
guint loom_node_n_modules (const LoomElement *node);
const char *loom_node_nth_module (const LoomElement *node, guint n);
gboolean loom_node_uses_module (const LoomElement *node, const char *module);
/* TRUE for a node whose modules have numbers in paths: "choice.0.fc". */
gboolean loom_node_numbers_modules (const LoomElement *node);
/* The module that the part of a path after a node leads into: for a switch, part is the module's number. NULL: none. */
const char *loom_node_module_at (const LoomElement *node, const char *part);
/* The value of loom_node_module_attribute() with the n-th module's name replaced. (transfer full) */
char *loom_node_rename_module (const LoomElement *node, guint n, const char *now);
