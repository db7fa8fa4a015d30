/* The parts of an adapter, for merging its factors into weights. */
#pragma once

#include "engine/infer/loom-adapter.h"

/* The number of a tensor by its name in the graph; −1: there is none. */
int adapter_find_tensor (const LoomAdapter *self, const char *name);
/* As loom_adapter_attach(), for factors that are added to weights, also of some copies of a layer. */
gboolean adapter_attach_merged (LoomAdapter *self, LoomGraph *graph, GError **error);
/* TRUE for names that end as those of factors do. */
gboolean adapter_is_factor (const char *name);
