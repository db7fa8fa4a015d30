/* `gradloom check --gradcheck`: compares gradients with finite differences. */
#pragma once

#include "app/shared/command.h"
#include "engine/loom-lab.h"

/* Numbers of somebody's own for a port that nodes read. */
typedef struct
{
  char *port;
  guint node, output;
  LoomTensor *tensor;
  gboolean used;
} CheckPoint;

/* Reads --in PORT=F.npy for a symbolic net (CheckPoint; free the array) and binds the symbols of their shapes. NULL
 * with an error. */
GPtrArray *check_points_read (const LoomNet *net, char **in, LoomBinding *binding, GError **error);

/* Every node of a bound net, or the one of that path: a line each with the largest relative difference, and where one
 * is above 1e-5 the input, the place and both numbers. points may be NULL. The exit status: 1 where a node differs. */
int
check_gradients (const Command *command, const LoomNet *net, const char *only, const GPtrArray *points, gboolean json);
