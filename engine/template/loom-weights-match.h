/* Compares a weights file with a graph, by names and shapes, like `<train weights="…">`. */
#pragma once

#include "engine/interop/loom-safetensors.h"
#include "engine/net/loom-net.h"

typedef struct
{
  guint n_fit;        /* weights of the graph that the file has, with equal shapes */
  GPtrArray *differs; /* of char *: "fc.weight is 10 × 4 here, 3 × 4 in the file" */
  GPtrArray *missing; /* of char *: "fc.bias is missing (10)" */
  GPtrArray *unused;  /* of char *: names in the file that are not in the graph */
  gint64 n_numbers;   /* of the matching weights */
} LoomWeightsMatch;

LoomWeightsMatch *loom_weights_match_new (LoomTensorFile *file, const LoomNet *net);
void loom_weights_match_free (LoomWeightsMatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomWeightsMatch, loom_weights_match_free)
