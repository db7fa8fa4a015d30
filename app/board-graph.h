/* A net as TensorFlow's GraphDef, which TensorBoard draws. */
#pragma once

#include "app/board-file.h"

G_BEGIN_DECLS

/* A node for each node of the net, with its operator, attributes and shapes; dots of paths become slashes, so that
 * modules are drawn as groups. (transfer full) */
GByteArray *board_graph_new (const LoomNet *net);

G_END_DECLS
