/* Frees the result of an import, in builds with and without the reader. */
#include "engine/onnx/loom-onnx.h"

void
loom_onnx_free (LoomOnnx *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_ptr_array_unref (self->weights);
  g_ptr_array_unref (self->inputs);
  g_ptr_array_unref (self->outputs);
  g_ptr_array_unref (self->mapped);
  g_ptr_array_unref (self->notes);
  g_free (self);
}
