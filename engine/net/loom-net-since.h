/* Says what changed in a net that is renewed at each edit.
 *
 * Every net has a number, greater than those of all nets that the process made or renewed before. An observer that
 * keeps the number of the net that it has read finds what changed since: whatever has a greater number. */
#pragma once

#include "engine/net/loom-net.h"

guint64 loom_net_number (const LoomNet *net);
/* The version of the graph of which it is the net. */
guint64 loom_net_graph_version (const LoomNet *net);
/* The number of the net since which a node has its operator, ports, types, cost and summary. */
guint64 loom_net_node_since (const LoomNet *net, guint node);
/* The number of the net since which all nodes have their indices. */
guint64 loom_net_order_since (const LoomNet *net);
/* FALSE if no node has an attribute "split"; if no node, or module around one, has an attribute "device". */
gboolean loom_net_may_split (const LoomNet *net);
gboolean loom_net_names_devices (const LoomNet *net);

/* Names the axes of all outputs, as loom_net_name_axes() does, and keeps the names in the net; computes again only what
 * changed since the last call. */
void loom_net_keep_axes (LoomNet *net);
/* The kept names of a node's outputs; NULL: they are not kept for this version of the net. */
const LoomNetAxes *loom_net_kept_axes (const LoomNet *net, guint node);
/* The number of the net since which they are as they are. */
guint64 loom_net_axes_since (const LoomNet *net, guint node);
