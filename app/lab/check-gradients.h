/* `gradloom check --gradcheck`: compares gradients with finite differences. */
#pragma once

#include "app/shared/command.h"
#include "engine/loom-lab.h"

/* The user's values for a port that nodes read. */
typedef struct
{
  char *port;
  guint node, output;
  LoomTensor *tensor;
  gboolean used;
} CheckPoint;

/* Reads --in PORT=F.npy for a symbolic net (CheckPoint; the caller frees the array) and binds the symbols of the
 * shapes. NULL with an error. */
GPtrArray *check_points_read (const LoomNet *net, char **in, LoomBinding *binding, GError **error);

/* Checks every node of a bound net, or those of these paths and inside modules of these paths (only: up to NULL, empty:
 * all). Prints the largest relative difference of each; if it is above 1e-5, also the input, the index and both
 * numbers; for named nodes a line for each input and weight. points may be NULL. Returns the exit status: 1 if a node
 * differs. */
int
check_gradients (const Command *command, const LoomNet *net, char *const *only, const GPtrArray *points, gboolean json);
