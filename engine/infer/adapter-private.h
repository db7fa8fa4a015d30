/* The parts of an adapter, for merging its factors into weights. */
#pragma once

#include "engine/infer/loom-adapter.h"

/* The number of a tensor by its name in the graph; −1: there is none. */
int adapter_find_tensor (const LoomAdapter *self, const char *name);
/* TRUE for names that end as those of factors do. */
gboolean adapter_is_factor (const char *name);
