/* The tensors of a file of weights, how they fit a graph, and the skeleton of a graph for it: read on a thread, for a
 * file may be on a slow disk. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

G_BEGIN_DECLS

typedef struct
{
  char *path;
  LoomSafetensors *file;
  double n_numbers, n_bytes;
  char *dtypes;            /* "f32", "bf16, f32" */
  LoomWeightsMatch *match; /* NULL: there is no graph that it could be of */
  guint n_wanted;          /* weights of that graph */
  char *skeleton;          /* the text of a graph; NULL: not a layer could be guessed */
  guint n_layers;
  char **left_out; /* a sentence each; of no skeleton, one that says why */
} StudioWeightsLook;

void studio_weights_look_free (StudioWeightsLook *look);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioWeightsLook, studio_weights_look_free)

/* graph: what is open, copied; NULL where it is empty. */
void studio_weights_look_async (const char *path, const LoomGraph *graph, GAsyncReadyCallback callback, gpointer data);
/* NULL with one sentence for a file that is none. (transfer full) */
StudioWeightsLook *studio_weights_look_finish (GAsyncResult *result, GError **error);

G_END_DECLS
