/* The names of the dimensions of all tensors of a net. */
#pragma once

#include "engine/net/loom-net.h"

G_BEGIN_DECLS

/* The names of every output: [node][output]. (transfer full: one block, for g_free()) */
LoomNetAxes **loom_net_name_axes (const LoomNet *net);

G_END_DECLS
