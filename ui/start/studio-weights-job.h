/* Reads a file of weights in a thread: its tensors, how they match a graph, and a graph guessed from them. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"
#include "engine/template/loom-weights-match.h"

typedef struct
{
  char *path;
  LoomTensorFile *file;
  double n_numbers, n_bytes;
  char *dtypes;            /* "f32", "bf16, f32" */
  LoomWeightsMatch *match; /* NULL: there is no graph to match */
  guint n_wanted;          /* weights of that graph */
  char *skeleton;          /* the text of a graph; NULL: no layer could be guessed */
  guint n_layers;
  char **left_out; /* sentences about what was left out; without a skeleton, one that says why */
} StudioWeightsInfo;

void studio_weights_info_free (StudioWeightsInfo *look);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioWeightsInfo, studio_weights_info_free)

/* graph: the open graph, copied; NULL: it is empty. */
void
studio_weights_inspect_async (const char *path, const LoomGraph *graph, GAsyncReadyCallback callback, gpointer data);
/* NULL with an error for an invalid file. (transfer full) */
StudioWeightsInfo *studio_weights_inspect_finish (GAsyncResult *result, GError **error);
