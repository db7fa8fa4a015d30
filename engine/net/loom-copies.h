/* Copies between devices, as a net foresees them.
 *
 * A node computes on the device that it or a module around it names, else on the run's. Where a tensor is read on
 * another device than it was made on, the planner puts a copy in between, once for each device (plan-place.c); a test
 * compares both. Nothing is opened for this: a graph for another machine shows its copies here, too. */
#pragma once

#include "engine/net/loom-net.h"

G_BEGIN_DECLS

typedef struct
{
  LoomNetSource source; /* what is copied */
  guint reader;         /* the node that reads it */
  const char *from, *to;
  double bytes;      /* of the tensor; negative where a size is not known */
  gboolean shared;   /* an earlier reader has brought it to that device already: no copy of its own */
  gboolean gradient; /* in training its gradient, of the same size, comes back */
} LoomCopy;

/* The device of a node in a run on this device. */
const char *loom_net_device (const LoomNet *net, guint node, const char *device);
/* Every reading across devices, in the order of readers (transfer full), an array of LoomCopy. device: of nodes
 * that name none. binding: what the net's symbols stand for in `bytes`; NULL: as the net has them. */
GArray *loom_net_copies_new (const LoomNet *net, const char *device, const LoomBinding *binding);
/* Returns the bytes that a step copies, in training with the gradients that come back. */
double loom_net_copy_bytes (const GArray *copies, gboolean training);

G_END_DECLS
