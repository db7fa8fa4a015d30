/* The ONNX reader and writer of a build without protobuf-c: their errors name the missing library. */
#include "engine/onnx/loom-onnx.h"

static void
set_error (GError **error)
{
  g_set_error (
      error, LOOM_ERROR, LOOM_ERROR_USAGE,
      "This build does not support ONNX. Install libprotobuf-c-dev, protobuf-c-compiler and libonnx-dev, and build "
      "again.");
}

LoomOnnx *
loom_onnx_read_file (const char *path, const LoomOnnxInputs *inputs, LoomFaults *faults, GError **error)
{
  set_error (error);
  return NULL;
}

LoomOnnx *
loom_onnx_read_data (const void *data, gsize length, const char *name_for_errors, const LoomOnnxInputs *inputs,
                     LoomFaults *faults, GError **error)
{
  set_error (error);
  return NULL;
}

char **
loom_onnx_open_sizes (const char *path, GError **error)
{
  set_error (error);
  return NULL;
}

LoomTensor *
loom_onnx_read_tensor (const char *path, char **name, GError **error)
{
  set_error (error);
  return NULL;
}

LoomOnnxWriter *
loom_onnx_writer_new (const LoomGraph *graph, const LoomOnnxWriteOptions *options, GHashTable *weights,
                      LoomFaults *faults, GError **error)
{
  set_error (error);
  return NULL;
}

/* There is no writer, so this is never called. */
void
loom_onnx_writer_free (LoomOnnxWriter *self)
{
  g_assert_null (self);
}

guint
loom_onnx_writer_n_ports (const LoomOnnxWriter *self, gboolean outputs)
{
  return 0;
}

void
loom_onnx_writer_port (const LoomOnnxWriter *self, gboolean outputs, guint i, const char **name, const LoomType **type)
{
}

const char *
loom_onnx_writer_port_doc (const LoomOnnxWriter *self, gboolean outputs, guint i)
{
  return NULL;
}

const GPtrArray *
loom_onnx_writer_mapped (const LoomOnnxWriter *self)
{
  return NULL;
}

GBytes *
loom_onnx_writer_bytes (LoomOnnxWriter *self, GError **error)
{
  set_error (error);
  return NULL;
}

gboolean
loom_onnx_writer_save (LoomOnnxWriter *self, const char *path, gboolean external, char **data_path, GError **error)
{
  set_error (error);
  return FALSE;
}
