/* `gradloom plan --source NODE`: the source of the kernels that are compiled at run time for a node, and the names of
 * other kernels and libraries that compute it. */
#pragma once

#include "engine/loom-run.h"

G_BEGIN_DECLS

typedef struct
{
  const char *node; /* a node, or a module's node with all inside it */
  const LoomBackendTools
      *tools;         /* whose text is wanted where none of its devices is here; NULL: that of the plan's devices */
  const char *device; /* which is that of tools */
  gboolean json;
  guint n; /* calls that were printed */
} PlanSource;

/* Where the device is not here but its back end is, and has the text of kernels: what to plan for instead, and that
 * back end's tools in *tools. Else the device itself. */
const char *plan_source_device (LoomDevices *devices, const char *device, const LoomBackendTools **tools);
/* A LoomPlanCallFunc. */
void plan_source_call (const LoomPlanCall *call, gpointer source);
/* After all plans: reports a node that has no kernel. FALSE with USAGE where the graph has no such node. */
gboolean plan_source_end (PlanSource *source, const LoomGraph *graph, GError **error);

G_END_DECLS
