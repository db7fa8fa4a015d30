/* A net as TensorFlow's GraphDef, which TensorBoard draws. */
#pragma once

#include "app/board-file.h"

/* A node for each node of the net, with its operator, attributes and shapes; dots of paths become slashes, so that
 * modules are drawn as groups. (transfer full) */
GByteArray *board_graph_new (const LoomNet *net);
