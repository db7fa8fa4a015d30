/* The tensors of a node that can be looked at by name. */
#pragma once

#include "engine/loom.h"

/* The outputs of a node, then its weights, as a port names them: "conv", "conv.weight". Empty for a path without a
 * node. (transfer full) */
char **studio_tensors_of_node (const LoomNet *net, const char *path);
