/* `gradloom plan --source NODE`: prints the source of the kernels that are compiled at run time for a node, and the
 * names of other kernels and libraries that compute it. */
#pragma once

#include "engine/loom-run.h"

typedef struct
{
  const char *node; /* a node, or a module's node with all nodes inside it */
  const LoomBackendTools
      *tools;         /* the back end of a device that does not exist here; NULL: that of the plan's devices */
  const char *device; /* the device of tools */
  gboolean json;
  const char *picture; /* an SVG file: which thread computes which element, of the first call; NULL: none */
  guint n;             /* number of printed calls */
  char *drawing;       /* of that call; NULL: none yet */
} PlanSource;

/* If the device does not exist here, but its back end does and has kernel sources: returns a device to plan for
 * instead, and the back end's tools in *tools. Otherwise returns the device itself. */
const char *plan_source_device (LoomDevices *devices, const char *device, const LoomBackendTools **tools);
/* A LoomPlanCallFunc. */
void plan_source_call (const LoomPlanCall *call, gpointer source);
/* Call after all plans: reports a node that has no kernel, and writes the picture. FALSE with USAGE if the graph has no
 * such node, or if no kernel of it can be drawn. */
gboolean plan_source_end (PlanSource *source, const LoomGraph *graph, GError **error);
