/* Writes an imported model as a graph's file and a file of weights next to it. */
#include "engine/onnx/loom-onnx.h"

#include <string.h>

char *
loom_onnx_weights_path (const LoomOnnx *self, const char *graph)
{
  g_autofree char *stem = g_strdup (graph);

  if (self->weights->len == 0)
    return NULL;
  if (g_str_has_suffix (stem, ".xml"))
    stem[strlen (stem) - 4] = 0;
  return g_strconcat (stem, ".safetensors", NULL);
}

/* The graph starts from its weights in every training. */
static LoomGraph *
name_weights (const LoomOnnx *self, const char *weights)
{
  LoomGraph *graph = loom_graph_copy (self->graph);
  LoomElement *root = loom_graph_root (graph);
  g_autofree char *weights_file = weights != NULL ? g_path_get_basename (weights) : NULL;

  if (weights != NULL && loom_element_find (root, LOOM_TAG_TRAIN) == NULL)
    loom_edit_free (
        loom_graph_apply (graph, loom_edit_insert (root, loom_element_place_for (root, LOOM_TAG_TRAIN),
                                                   loom_element_new (LOOM_TAG_TRAIN, "weights", weights_file,
                                                                     "optimizer", "adam", "lr", "0.001", NULL))));
  return graph;
}

/* The weights are written first, because a graph without its weights would seem complete and compute with random
 * ones. */
gboolean
loom_onnx_save (const LoomOnnx *self, const char *path, char **weights, GError **error)
{
  g_autofree char *weights_file = loom_onnx_weights_path (self, path);
  g_autoptr (LoomGraph) graph = name_weights (self, weights_file);

  if (weights_file != NULL && !loom_safetensors_save (weights_file, self->weights, NULL, error))
    return FALSE;
  if (!loom_graph_write_file (graph, path, error))
    return FALSE;
  if (weights != NULL)
    *weights = g_steal_pointer (&weights_file);
  return TRUE;
}
