/* Converts large constants from and to text. */
#include "engine/ops/loom-table.h"

#include <gio/gio.h>

char *
loom_table_encode (const LoomTensor *tensor)
{
  g_autoptr (GConverter) deflate = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_ZLIB, 9));
  gsize size = tensor->bytes + tensor->bytes / 100 + 64, n_read = 0, n_written = 0;
  g_autofree guint8 *bytes = NULL;

  if (tensor->count > LOOM_TABLE_MAX_COUNT)
    return NULL;
  bytes = g_malloc (size);
  if (g_converter_convert (deflate, tensor->data, tensor->bytes, bytes, size, G_CONVERTER_INPUT_AT_END, &n_read,
                           &n_written, NULL)
          != G_CONVERTER_FINISHED
      || n_read != tensor->bytes)
    return NULL;
  return g_base64_encode (bytes, n_written);
}

gboolean
loom_table_decode (const char *text, LoomDType dtype, gsize count, double *values)
{
  g_autoptr (GConverter) inflate = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_ZLIB));
  gsize length = 0, n_read = 0, n_written = 0, room;
  g_autofree guint8 *bytes = g_base64_decode (text, &length), *at = NULL;
  g_autoptr (LoomTensor) t = NULL;

  if (count == 0 || count > LOOM_TABLE_MAX_COUNT || length == 0)
    return FALSE;
  t = loom_tensor_new (dtype, 1, (gint64[]){ (gint64)count }, NULL);
  if (t == NULL)
    return FALSE;
  /* One more byte than is wanted, to see a longer stream. */
  room = t->bytes + 1;
  at = g_malloc (room);
  if (g_converter_convert (inflate, bytes, length, at, room, G_CONVERTER_INPUT_AT_END, &n_read, &n_written, NULL)
          != G_CONVERTER_FINISHED
      || n_written != t->bytes)
    return FALSE;
  memcpy (t->data, at, n_written);
  for (gint64 i = 0; i < t->count; i++)
    values[i] = loom_tensor_get (t, i);
  return TRUE;
}
