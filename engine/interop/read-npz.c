/* Reads the arrays of an archive that numpy.savez or savez_compressed wrote: members NAME.npy. */
#include "engine/interop/npy-private.h"
#include "engine/interop/tensor-file-private.h"

#include <string.h>

static gboolean
add_array (LoomTensorFile *self, guint64 member, const char *path, GError **error)
{
  g_autofree char *name = g_strndup (path, strlen (path) - strlen (".npy"));
  g_autofree char *shown = g_strdup_printf ("%s: %s", self->path, path);
  g_autoptr (GBytes) head = zip_archive_read (self->zip, member, NPY_MAX_HEADER, error);
  NpyHeader header;
  TensorEntry *entry;
  gint64 step = 1;

  if (head == NULL || !npy_read_header (g_bytes_get_data (head, NULL), g_bytes_get_size (head), shown, &header, error))
    return FALSE;
  entry = tensor_entry_new (name);
  entry->encoding = tensor_encoding_named (header.encoding);
  entry->rank = header.rank;
  entry->is_strided = header.fortran && header.rank > 1;
  for (int d = 0; d < header.rank; d++)
    {
      entry->dim[d] = header.dim[d];
      entry->stride[d] = step;
      if (__builtin_mul_overflow (step, header.dim[d], &step))
        step = -1; /* its span overflows, too */
    }
  entry->offset = header.data_offset;
  entry->source = tensor_file_add_source (self, NULL, member);
  return tensor_file_add (self, entry, error);
}

gboolean
read_npz (LoomTensorFile *self, GError **error)
{
  for (guint64 i = 0; i < zip_archive_count (self->zip); i++)
    {
      const char *path = zip_archive_name (self->zip, i);

      if (path != NULL && g_str_has_suffix (path, ".npy") && !add_array (self, i, path, error))
        return FALSE;
    }
  return TRUE;
}
