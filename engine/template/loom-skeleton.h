/* A skeleton: layers guessed from the names and shapes of weights, chained where widths fit.
 *
 * A file of weights says what is learnt and not what is computed: activations, pooling, strides and branches stand in
 * no tensor. So a skeleton is a beginning, whose weights fit by name and shape; what could not be guessed is left out
 * and told. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/interop/loom-safetensors.h"

G_BEGIN_DECLS

typedef struct
{
  LoomGraph *graph;
  guint n_layers;      /* that were guessed */
  guint n_chains;      /* into which they fall; each begins with an input */
  GPtrArray *left_out; /* of char *, a sentence for each layer or tensor that the graph lacks */
} LoomSkeleton;

/* weights: what <train weights="…"> says, a path as seen from where the graph will be; NULL: no <train>. name: of the
 * graph. Names with dots become modules, so that weights keep their names; siblings come in the file's order, numbered
 * ones by their number, embeddings first, convolutions before what is flat, what is called
 * “out”, “head” and the like last, and a batch norm behind the layer of its
 * number. DATA, one sentence, where not one layer can be guessed. */
LoomSkeleton *loom_skeleton_new (const LoomSafetensors *file, const char *weights, const char *name, GError **error);
void loom_skeleton_free (LoomSkeleton *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSkeleton, loom_skeleton_free)

G_END_DECLS
