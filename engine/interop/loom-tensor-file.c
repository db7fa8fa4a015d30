/* Named tensors of a file, whatever its format: recognises it, and makes tensors of what the format's reader found.
 *
 * A reader lists entries: a name, an encoding, sizes, strides, and where the first element is. Everything that reads
 * elements is here, and checks each entry against the bytes that there are. */
#include "engine/interop/tensor-file-private.h"

#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-file.h"
#include "engine/interop/loom-file-kind.h"

/* ---- what readers use ---------------------------------------------------------- */

static void
clear_source (gpointer data)
{
  g_clear_pointer (&((TensorSource *)data)->bytes, g_bytes_unref);
}

void
tensor_entry_free (TensorEntry *entry)
{
  if (entry == NULL)
    return;
  tensor_entry_free (entry->length);
  g_free (entry->name);
  g_free (entry->unread);
  g_free (entry);
}

TensorEntry *
tensor_entry_new (const char *name)
{
  TensorEntry *entry = g_new0 (TensorEntry, 1);

  entry->name = g_strdup (name);
  return entry;
}

LoomTensorFile *
tensor_file_new (const char *path)
{
  LoomTensorFile *self = g_new0 (LoomTensorFile, 1);

  self->path = g_strdup (path);
  self->sources = g_array_new (FALSE, TRUE, sizeof (TensorSource));
  g_array_set_clear_func (self->sources, clear_source);
  self->read = -1;
  self->entries = g_ptr_array_new_with_free_func ((GDestroyNotify)tensor_entry_free);
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->members = g_ptr_array_new_with_free_func (g_free);
  self->shards = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_file_free);
  return self;
}

void
loom_tensor_file_free (LoomTensorFile *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->zip, zip_archive_free);
  g_array_unref (self->sources);
  g_ptr_array_unref (self->shards);
  g_hash_table_unref (self->by_name);
  g_hash_table_unref (self->metadata);
  g_ptr_array_unref (self->entries);
  g_free (self->prefix);
  g_free (self->absent);
  g_free (self->member);
  g_free (self->wanted);
  g_ptr_array_unref (self->members);
  g_free (self->path);
  g_free (self);
}

guint
tensor_file_add_source (LoomTensorFile *self, GBytes *bytes, guint64 member)
{
  const TensorSource source = { .bytes = bytes != NULL ? g_bytes_ref (bytes) : NULL,
                                .zip = bytes == NULL ? self->zip : NULL,
                                .member = member };

  g_array_append_val (self->sources, source);
  return self->sources->len - 1;
}

gboolean
tensor_file_add (LoomTensorFile *self, TensorEntry *entry, GError **error)
{
  const gboolean valid = g_utf8_validate (entry->name, -1, NULL);

  /* Half of a surrogate pair in JSON, or bytes of another encoding: such a name can neither be shown nor written. */
  if (!valid || g_hash_table_contains (self->by_name, entry->name))
    {
      loom_file_refuse (self->path, error,
                        valid ? "has two tensors named “%s”"
                              : "has a tensor whose name “%s” has bytes that are not UTF-8",
                        entry->name);
      tensor_entry_free (entry);
      return FALSE;
    }
  g_ptr_array_add (self->entries, entry);
  g_hash_table_insert (self->by_name, entry->name, GUINT_TO_POINTER (self->entries->len));
  return TRUE;
}

static gint64
n_elements (const TensorEntry *entry)
{
  gint64 n = 1;

  for (int d = 0; d < entry->rank; d++)
    if (__builtin_mul_overflow (n, entry->dim[d], &n))
      return -1;
  return n;
}

/* The number of elements from the first to the last one. */
static gint64
spanned (const TensorEntry *entry)
{
  gint64 last = 0, step;

  if (!entry->is_strided || n_elements (entry) == 0)
    return n_elements (entry);
  for (int d = 0; d < entry->rank; d++)
    if (entry->stride[d] < 0 || __builtin_mul_overflow (entry->dim[d] - 1, entry->stride[d], &step)
        || __builtin_add_overflow (last, step, &last))
      return -1;
  return last == G_MAXINT64 ? -1 : last + 1;
}

gint64
tensor_entry_span (const TensorEntry *entry)
{
  const TensorEncoding *encoding = entry->encoding;
  const gint64 n = n_elements (entry) >= 0 ? spanned (entry) : -1;
  gint64 bytes;

  if (n < 0 || n % encoding->block != 0 || __builtin_mul_overflow (n / encoding->block, encoding->bytes, &bytes))
    return -1;
  return bytes;
}

gboolean
tensor_entry_is_dense (const TensorEntry *entry)
{
  gint64 step = 1;

  for (int d = entry->rank - 1; d >= 0; d--)
    {
      if (entry->dim[d] != 1 && entry->stride[d] != step)
        return FALSE;
      if (__builtin_mul_overflow (step, entry->dim[d], &step))
        return FALSE;
    }
  return TRUE;
}

/* ---- opening ------------------------------------------------------------------- */

/* HDF5 in a zip archive, which Keras 3 writes. */
static gboolean
read_keras_zip (LoomTensorFile *self, guint64 member, GError **error)
{
  g_autoptr (GBytes) bytes = zip_archive_read (self->zip, member, G_MAXSIZE, error);

  return bytes != NULL && read_keras (self, bytes, error);
}

/* The reader of a zip archive by its members. */
static gboolean
read_zip (LoomTensorFile *self, GBytes *bytes, GError **error)
{
  self->zip = zip_archive_open (bytes, self->path, error);
  if (self->zip == NULL)
    return FALSE;
  if (zip_archive_find (self->zip, "data.pkl") >= 0)
    return read_torch_zip (self, error);
  if (zip_archive_find (self->zip, "model_weights_config.json") >= 0)
    return read_exported (self, error);
  if (zip_archive_find (self->zip, "model.weights.h5") >= 0)
    return read_keras_zip (self, (guint64)zip_archive_find (self->zip, "model.weights.h5"), error);
  for (guint64 i = 0; i < zip_archive_count (self->zip); i++)
    {
      const char *name = zip_archive_name (self->zip, i);

      if (name != NULL && g_str_has_suffix (name, ".npy"))
        return read_npz (self, error);
    }
  return loom_file_refuse (self->path, error,
                           "is a zip archive without weights: it has no data.pkl of torch.save, no weights of Keras "
                           "and no .npy");
}

/* A pickle of protocol 2 or later; a header of safetensors would be as long as two bytes of it say. */
static gboolean
is_pickle (GBytes *bytes)
{
  gsize length;
  const guint8 *data = g_bytes_get_data (bytes, &length);

  return length > 2 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 && !(length > 8 && data[8] == '{');
}

/* By its name an npz archive, but of no known kind by its bytes, not even safetensors. */
static gboolean
is_unknown_npz (const char *path, const guint8 *data, gsize length)
{
  g_autofree char *kind = loom_file_kind_words (data, length, LOOM_FILE_ARRAY);

  return kind == NULL && g_str_has_suffix (path, ".npz");
}

gboolean
read_any (LoomTensorFile *self, GBytes *bytes, GError **error)
{
  gsize length;
  const guint8 *data = g_bytes_get_data (bytes, &length);
  g_autofree char *other = NULL;

  if (loom_file_begins (data, length, "PK\003\004", 4))
    return read_zip (self, bytes, error);
  if (loom_file_begins (data, length, "PK\005\006", 4))
    return loom_file_refuse (self->path, error, "is an empty archive: it has no arrays");
  if (is_pickle (bytes))
    return read_torch_legacy (self, bytes, error);
  if (loom_file_begins (data, length, "GGUF", 4))
    return read_gguf (self, bytes, error);
  if (loom_file_begins (data, length, "\x89HDF\r\n\x1a\n", 8))
    return read_keras (self, bytes, error);
  if (is_unknown_npz (self->path, data, length))
    return loom_file_refuse (self->path, error, "is not an npz archive, or is damaged: it does not begin as one");
  other = loom_file_kind_words (data, length, LOOM_FILE_WEIGHTS);
  return other != NULL ? loom_file_refuse (self->path, error, "%s", other) : read_safetensors (self, bytes, error);
}

static LoomTensorFile *
open_bytes (GBytes *bytes, const char *path, const char *wanted, GError **error)
{
  g_autoptr (LoomTensorFile) self = tensor_file_new (path);

  self->wanted = g_strdup (wanted);
  if (!read_any (self, bytes, error))
    return NULL;
  return g_strcmp0 (self->wanted, self->member) == 0 || self->wanted == NULL || tensor_file_refuse_member (self, error)
             ? g_steal_pointer (&self)
             : NULL;
}

LoomTensorFile *
loom_tensor_file_open_bytes (GBytes *bytes, const char *path, GError **error)
{
  return open_bytes (bytes, path, NULL, error);
}

LoomTensorFile *
loom_tensor_file_open (const char *path, GError **error)
{
  g_autoptr (LoomTensorFile) self = NULL;
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *file = NULL;
  const char *name;

  g_return_val_if_fail (path != NULL, NULL);

  file = loom_file_of_set (path, &name);
  if (g_str_has_suffix (file, ".json") || loom_path_is_folder (file))
    {
      if (name != NULL)
        return loom_refuse_null (error, LOOM_ERROR_DATA,
                                 "“%s” names a set of weights, but “%s” is %s, which has no sets.", path, file,
                                 loom_path_is_folder (file) ? "a folder" : "an index of files");
      self = tensor_file_new (file);
      return read_shards (self, file, error) ? g_steal_pointer (&self) : NULL;
    }
  mapped = loom_file_map (file, error);
  if (mapped == NULL)
    return NULL;
  bytes = g_mapped_file_get_bytes (mapped);
  return open_bytes (bytes, file, name, error);
}

/* ---- tensors ------------------------------------------------------------------- */

guint
loom_tensor_file_count (const LoomTensorFile *self)
{
  return self->entries->len;
}

static const TensorEntry *
get_entry (const LoomTensorFile *self, guint i)
{
  return g_ptr_array_index (self->entries, i);
}

const char *
loom_tensor_file_name (const LoomTensorFile *self, guint i)
{
  const char *name;

  g_return_val_if_fail (i < self->entries->len, NULL);

  name = get_entry (self, i)->name;
  return self->prefix != NULL && g_str_has_prefix (name, self->prefix) ? name + strlen (self->prefix) : name;
}

LoomType
loom_tensor_file_type (const LoomTensorFile *self, guint i)
{
  const TensorEntry *entry = get_entry (self, i);

  return (LoomType){ .dtype = entry->length != NULL     ? LOOM_F32
                              : entry->encoding != NULL ? entry->encoding->dtype
                                                        : LOOM_U8,
                     .shape = loom_shape (entry->rank, entry->dim) };
}

const char *
loom_tensor_file_unread (const LoomTensorFile *self, guint i)
{
  return get_entry (self, i)->unread;
}

/* The source's bytes; of an archive, those of one member are kept, because neighbours often share it. */
static GBytes *
get_source (LoomTensorFile *self, guint i, GError **error)
{
  TensorSource *source = &g_array_index (self->sources, TensorSource, i);

  if (source->bytes != NULL)
    return source->bytes;
  source->bytes = zip_archive_read (source->zip, source->member, G_MAXSIZE, error);
  if (source->bytes == NULL)
    return NULL;
  if (self->read >= 0)
    clear_source (&g_array_index (self->sources, TensorSource, self->read));
  self->read = (int)i;
  return source->bytes;
}

static void
gather_strided (const TensorEntry *entry, const guint8 *from, guint8 *to)
{
  const gsize size = entry->encoding->bytes;
  const gint64 n = n_elements (entry);
  gint64 index[LOOM_SHAPE_MAX_RANK] = { 0 }, stride[LOOM_SHAPE_MAX_RANK], at = 0;

  /* The stride of a single element is any number. */
  for (int d = 0; d < entry->rank; d++)
    stride[d] = entry->dim[d] > 1 ? entry->stride[d] : 0;

  for (gint64 i = 0; i < n; i++)
    {
      memcpy (to + (gsize)i * size, from + (gsize)at * size, size);
      for (int d = entry->rank - 1; d >= 0; d--)
        {
          at += stride[d];
          if (++index[d] < entry->dim[d])
            break;
          at -= stride[d] * entry->dim[d];
          index[d] = 0;
        }
    }
}

/* A tensor with elements that are stored otherwise, or elsewhere than a tensor may point to. */
static LoomTensor *
copy_tensor (const TensorEntry *entry, const guint8 *data, const char *path, GError **error)
{
  const TensorEncoding *encoding = entry->encoding;
  g_autoptr (LoomTensor) t = loom_tensor_new (encoding->dtype, entry->rank, entry->dim, error);
  g_autofree guint8 *gathered = NULL;

  if (t == NULL || t->count == 0)
    return g_steal_pointer (&t);
  if (entry->is_strided)
    {
      gathered = encoding->decode == NULL ? NULL : g_try_malloc ((gsize)t->count * encoding->bytes);
      if (encoding->decode != NULL && gathered == NULL)
        return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY, "“%s” needs more memory than there is.", path);
      gather_strided (entry, data, encoding->decode == NULL ? t->data : gathered);
      data = gathered;
    }
  else if (encoding->decode == NULL)
    memcpy (t->data, data, t->bytes);
  if (encoding->decode != NULL && !encoding->decode (data, t->count, t->data))
    {
      loom_file_refuse (path, error, "has an unsigned integer in “%s” that is too large for i64", entry->name);
      return NULL;
    }
  return g_steal_pointer (&t);
}

static LoomTensor *
read_entry (LoomTensorFile *self, const TensorEntry *entry, GError **error)
{
  const guint8 *data;
  GBytes *bytes;
  gsize length;
  gint64 span;

  if (entry->encoding == NULL)
    {
      loom_file_refuse (self->path, error,
                        "has the tensor “%s” of the unsupported type “%s”; convert it to F32, F16 or BF16 and save "
                        "it again",
                        entry->name, entry->unread);
      return NULL;
    }
  bytes = get_source (self, entry->source, error);
  if (bytes == NULL)
    return NULL;
  data = g_bytes_get_data (bytes, &length);
  span = tensor_entry_span (entry);
  if (span < 0 || entry->offset > length || (guint64)span > length - entry->offset)
    {
      loom_file_refuse (self->path, error, "is truncated or damaged: tensor “%s” ends outside its bytes", entry->name);
      return NULL;
    }
  data += entry->offset;
  if (!entry->is_strided && entry->encoding->decode == NULL
      && (span == 0 || (guintptr)data % loom_dtype_size (entry->encoding->dtype) == 0))
    return loom_tensor_new_from_bytes (entry->encoding->dtype, entry->rank, entry->dim, bytes, entry->offset);
  return copy_tensor (entry, data, self->path, error);
}

LoomTensor *
loom_tensor_file_tensor (LoomTensorFile *self, guint i, GError **error)
{
  const TensorEntry *entry;

  g_return_val_if_fail (i < self->entries->len, NULL);

  entry = get_entry (self, i);
  if (entry->length == NULL)
    return read_entry (self, entry, error);
  g_autoptr (LoomTensor) direction = read_entry (self, entry, error);
  g_autoptr (LoomTensor) length = direction != NULL ? read_entry (self, entry->length, error) : NULL;
  return length != NULL ? tensor_of_norm (direction, length, error) : NULL;
}
