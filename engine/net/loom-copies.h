/* Predicts the copies between devices from a net alone.
 *
 * A node computes on the device that it, or a module around it, names, otherwise on the run's. If a tensor is read on
 * another device than it was made on, the planner inserts a copy, once per device (plan-placement.c); a test compares
 * both. No device is opened, so copies can be predicted for another machine. */
#pragma once

#include "engine/net/loom-net.h"

typedef struct
{
  LoomNetSource source; /* the output that is copied */
  guint reader;         /* the node that reads it */
  const char *from, *to;
  double bytes;      /* of the tensor; negative if a size is unknown */
  gboolean shared;   /* an earlier reader has copied it to that device, so there is no further copy */
  gboolean gradient; /* in training its gradient, of the same size, is copied back */
} LoomCopy;

/* The device of a node in a run whose default device is `device`. */
const char *loom_net_device (const LoomNet *net, guint node, const char *device);
/* Lists every read across devices, in the order of readers: an array of LoomCopy. (transfer full) device: for nodes
 * that name none. binding: sizes of the net's symbols, for `bytes`; NULL: the net's own binding. */
GArray *loom_net_copies_new (const LoomNet *net, const char *device, const LoomBinding *binding);
/* The bytes that a step copies; in training with the gradients that are copied back. */
double loom_net_copy_bytes (const GArray *copies, gboolean training);
