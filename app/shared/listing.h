/* The programs compiled from a graph, for `check`, `program` and `plan`. If the graph has a <train>, this is its
 * training step; otherwise a program of its unread outputs and, if one of them is a scalar, its gradients. */
#pragma once

#include "engine/loom-run.h"

typedef struct
{
  LoomNet *net;         /* the net of the open ends */
  LoomStep *step;       /* of <train> */
  LoomProgram *program; /* borrowed from the step, if there is one */
  LoomStep *keeping;    /* the step without recomputation, if the graph has any */
  char *device;         /* <train>'s; NULL: cpu */
  gboolean strict_devices;
} Listing;

void listing_clear (Listing *l);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Listing, listing_clear)

/* l must be zeroed. Compiles the unread outputs; every symbol must be bound, else SHAPE. */
gboolean
listing_build_ends (const LoomGraph *graph, const LoomBinding *binding, gboolean gradients, Listing *l, GError **error);
/* Compiles one step of <train>. */
gboolean listing_build_step (const LoomGraph *graph, LoomTrainSpec *spec, gint64 batch, gboolean training, Listing *l,
                             GError **error);
