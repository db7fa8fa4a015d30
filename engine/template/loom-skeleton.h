/* Guesses a graph from the names and shapes of weights: layers, chained if their sizes match.
 *
 * A weights file describes what is learned, not what is computed: it has no activations, pooling, strides or
 * branches. A skeleton is therefore a starting point, whose weights fit by name and shape; what could not be guessed
 * is left out and reported. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/interop/loom-safetensors.h"

typedef struct
{
  LoomGraph *graph;
  guint n_layers;      /* the number of layers */
  guint n_chains;      /* the number of chains; each begins with an input */
  GPtrArray *left_out; /* of char *, a sentence for each layer or tensor that is missing in the graph */
} LoomSkeleton;

/* weights: the value of <train weights="…">, a path relative to the graph; NULL: no <train>. name: of the graph.
 * Names with dots become modules, so that weights keep their names. Siblings have the order of the file, numbered
 * ones that of their numbers; embeddings come first, convolutions before linear layers, "out", "head" and the like
 * last, and a batch norm after the layer with its number. DATA error, one sentence, if no layer can be guessed. */
LoomSkeleton *loom_skeleton_new (const LoomTensorFile *file, const char *weights, const char *name, GError **error);
void loom_skeleton_free (LoomSkeleton *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSkeleton, loom_skeleton_free)
