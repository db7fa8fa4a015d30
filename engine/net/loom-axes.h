/* The names of the dimensions of all tensors of a net. */
#pragma once

#include "engine/net/loom-net.h"

/* The names of every output: [node][output]. (transfer full: one block, for g_free()) */
LoomNetAxes **loom_net_name_axes (const LoomNet *net);
