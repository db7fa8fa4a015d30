/* Predicts the copies between devices from a net alone.
 *
 * A node computes on the device that it or a module around it names, else on the run's. If a tensor is read on another
 * device than it was made on, the planner inserts a copy, once per device (plan-placement.c); a test compares both. No
 * device is opened, so the copies of a graph for another machine are predicted, too. */
#pragma once

#include "engine/net/loom-net.h"

G_BEGIN_DECLS

typedef struct
{
  LoomNetSource source; /* what is copied */
  guint reader;         /* the node that reads it */
  const char *from, *to;
  double bytes;      /* of the tensor; negative if a size is unknown */
  gboolean shared;   /* an earlier reader has copied it to that device: no copy of its own */
  gboolean gradient; /* in training its gradient, of the same size, is copied back */
} LoomCopy;

/* The device of a node in a run on this device. */
const char *loom_net_device (const LoomNet *net, guint node, const char *device);
/* Every read across devices, in the order of readers: an array of LoomCopy (transfer full). device: of nodes that name
 * none. binding: sizes of the net's symbols, for `bytes`; NULL: as the net has them. */
GArray *loom_net_copies_new (const LoomNet *net, const char *device, const LoomBinding *binding);
/* Returns the bytes that a step copies, in training with the gradients that come back. */
double loom_net_copy_bytes (const GArray *copies, gboolean training);

G_END_DECLS
