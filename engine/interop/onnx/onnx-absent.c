/* The doors of the ONNX reader in a build without protobuf-c: they say what is missing. */
#include "engine/interop/onnx/loom-onnx.h"

gboolean
loom_onnx_available (void)
{
  return FALSE;
}

static void
say (GError **error)
{
  g_set_error (
      error, LOOM_ERROR, LOOM_ERROR_USAGE,
      "This build reads no ONNX. Install libprotobuf-c-dev, protobuf-c-compiler and libonnx-dev, and build again.");
}

LoomOnnx *
loom_onnx_read_file (const char *path, GHashTable *given, LoomFaults *faults, GError **error)
{
  say (error);
  return NULL;
}

LoomOnnx *
loom_onnx_read_data (const void *data, gsize length, const char *name_for_errors, GHashTable *given, LoomFaults *faults,
                     GError **error)
{
  say (error);
  return NULL;
}

void
loom_onnx_free (LoomOnnx *self)
{
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_ptr_array_unref (self->weights);
  g_ptr_array_unref (self->inputs);
  g_ptr_array_unref (self->outputs);
  g_ptr_array_unref (self->mapped);
  g_free (self);
}

LoomTensor *
loom_onnx_read_tensor (const char *path, char **name, GError **error)
{
  say (error);
  return NULL;
}
