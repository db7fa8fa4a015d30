/* Writes a finished model: its ports, its bytes, and its files. */
#include "engine/onnx/onnx-export-private.h"

#include "engine/core/loom-atomic-file.h"

#include <string.h>

guint
loom_onnx_writer_n_ports (const LoomOnnxWriter *self, gboolean outputs)
{
  return outputs ? self->all.outputs->len : self->all.inputs->len;
}

void
loom_onnx_writer_port (const LoomOnnxWriter *self, gboolean outputs, guint i, const char **name, const LoomType **type)
{
  const OnnxVar *v = (outputs ? self->all.outputs : self->all.inputs)->pdata[i];

  *name = v->name;
  *type = &v->type;
}

const char *
loom_onnx_writer_port_doc (const LoomOnnxWriter *self, gboolean outputs, guint i)
{
  const OnnxVar *v = (outputs ? self->all.outputs : self->all.inputs)->pdata[i];

  return v->doc;
}

const GPtrArray *
loom_onnx_writer_mapped (const LoomOnnxWriter *self)
{
  return self->mapped;
}

/* Names and nodes need space below protobuf's limit of 2 GiB. */
#define MESSAGE_LIMIT ((gsize)2000 << 20)

static gsize
count_bytes (const LoomOnnxWriter *self)
{
  gsize bytes = 0;

  for (guint i = 0; i < self->all.vars->len; i++)
    {
      const OnnxVar *v = self->all.vars->pdata[i];
      bytes += v->tensor != NULL ? v->tensor->bytes : 0;
    }
  return bytes;
}

GBytes *
loom_onnx_writer_bytes (LoomOnnxWriter *self, GError **error)
{
  if (count_bytes (self) > MESSAGE_LIMIT)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The model has more than 2 GB of weights, the limit of one ONNX file. Use --external-data.");
      return NULL;
    }
  return onnx_export_pack (&self->all, self->name, self->doc, self->metadata, NULL, error);
}

static gboolean
save_data (LoomOnnxWriter *self, const char *path, GError **error)
{
  static const guint8 zeros[4096];
  g_autoptr (LoomAtomicFile) file = loom_atomic_file_new (NULL, path, error);
  guint64 at = 0;

  for (guint i = 0; file && i < self->all.vars->len; i++)
    {
      const OnnxVar *v = self->all.vars->pdata[i];
      if (!v->is_external)
        continue;
      if (!loom_atomic_file_write (file, zeros, v->offset - at, error)
          || !loom_atomic_file_write (file, v->tensor->data, v->tensor->bytes, error))
        return FALSE;
      at = v->offset + v->tensor->bytes;
    }
  return file && loom_atomic_file_commit (file, error);
}

gboolean
loom_onnx_writer_save (LoomOnnxWriter *self, const char *path, gboolean external, char **data_path, GError **error)
{
  g_autofree char *data_file = g_strconcat (path, ".data", NULL), *base = g_path_get_basename (data_file);
  gboolean outside = external || count_bytes (self) > MESSAGE_LIMIT;
  g_autoptr (GBytes) bytes
      = onnx_export_pack (&self->all, self->name, self->doc, self->metadata, outside ? base : NULL, error);

  if (data_path != NULL)
    *data_path = NULL;
  if (bytes == NULL)
    return FALSE;
  /* The weights' file is written first, because a model file without it would seem complete. */
  if (outside && self->all.outside > 0)
    {
      if (!save_data (self, data_file, error))
        return FALSE;
      if (data_path != NULL)
        *data_path = g_steal_pointer (&data_file);
    }
  return loom_file_replace (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
}
