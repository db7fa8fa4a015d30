/* Reads safetensors files.
 *
 * The header is checked as strictly as by the reference implementation (every byte of the data belongs to exactly one
 * tensor, every size matches its shape), so nothing after opening can read outside the file. */
#include "engine/interop/loom-safetensors.h"
#include "engine/interop/loom-file-kind.h"
#include "engine/interop/safetensors-private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-file.h"
#include "engine/core/loom-json.h"

/* The limit of the reference implementation. */
#define MAX_HEADER 100000000
/* {"name": {"shape": [...]}} has three levels. */
#define MAX_DEPTH 3

typedef struct
{
  char *name;
  LoomDType dtype;
  char *unread; /* the header's name of a type that tensors here do not have; NULL: `dtype` is the type */
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK];
  gsize begin, end; /* in the data */
} Entry;

struct _LoomSafetensors
{
  char *path;
  GBytes *bytes;
  gsize data_offset;
  GPtrArray *entries;   /* Entry, by offset */
  GHashTable *by_name;  /* name (owned by the entry) → index + 1 */
  GHashTable *metadata; /* text → text */
};

const char *const safetensors_dtype_names[LOOM_N_DTYPES] = {
  [LOOM_F64] = "F64", [LOOM_F32] = "F32", [LOOM_F16] = "F16", [LOOM_BF16] = "BF16",
  [LOOM_I64] = "I64", [LOOM_I32] = "I32", [LOOM_U8] = "U8",   [LOOM_BOOL] = "BOOL",
};

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  g_free (entry->name);
  g_free (entry->unread);
  g_free (entry);
}

void
loom_safetensors_free (LoomSafetensors *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->by_name);
  g_hash_table_unref (self->metadata);
  g_ptr_array_unref (self->entries);
  g_bytes_unref (self->bytes);
  g_free (self->path);
  g_free (self);
}

static gboolean G_GNUC_PRINTF (3, 4) refuse (const char *file, GError **error, const char *format, ...)
{
  g_autofree char *reason = NULL;
  va_list args;

  va_start (args, format);
  reason = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” %s.", file, reason);
  return FALSE;
}

/* Reads a list of n non-negative integers (n −1: any number up to max, which *n receives). */
static gboolean
read_integers (JsonObject *object, const char *member, gint64 *out, int max, int *n)
{
  JsonNode *node = json_object_get_member (object, member);
  JsonArray *array;

  if (node == NULL || !JSON_NODE_HOLDS_ARRAY (node))
    return FALSE;
  array = json_node_get_array (node);
  if (json_array_get_length (array) > (guint)max)
    return FALSE;
  *n = json_array_get_length (array);
  for (int i = 0; i < *n; i++)
    {
      JsonNode *item = json_array_get_element (array, i);

      if (!JSON_NODE_HOLDS_VALUE (item) || json_node_get_value_type (item) != G_TYPE_INT64)
        return FALSE;
      out[i] = json_node_get_int (item);
      if (out[i] < 0)
        return FALSE;
    }
  return TRUE;
}

static const char *
read_text (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

static gboolean
read_metadata (LoomSafetensors *self, JsonNode *node, const char *file, GError **error)
{
  JsonObjectIter iter;
  const char *key;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return refuse (file, error, "has a damaged header: __metadata__ is not a map of strings");
  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &key, &value))
    {
      const char *text = read_text (value);

      if (text == NULL)
        return refuse (file, error, "has a damaged header: __metadata__ is not a map of strings");
      g_hash_table_insert (self->metadata, g_strdup (key), g_strdup (text));
    }
  return TRUE;
}

static gboolean
read_entry (LoomSafetensors *self, const char *name, JsonNode *node, gsize data_length, const char *file,
            GError **error)
{
  Entry *entry = g_new0 (Entry, 1);
  JsonObject *object;
  const char *dtype;
  gint64 offsets[2], size;
  int n;

  entry->name = g_strdup (name);
  g_ptr_array_add (self->entries, entry);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return refuse (file, error, "has a damaged header at tensor “%s”", name);
  object = json_node_get_object (node);

  dtype = read_text (json_object_get_member (object, "dtype"));
  if (dtype == NULL)
    return refuse (file, error, "has a damaged header: tensor “%s” has no dtype", name);
  for (entry->dtype = 0; entry->dtype < LOOM_N_DTYPES; entry->dtype++)
    {
      if (g_str_equal (dtype, safetensors_dtype_names[entry->dtype]))
        break;
    }
  if (entry->dtype == LOOM_N_DTYPES)
    {
      entry->dtype = LOOM_U8;
      entry->unread = g_strdup (dtype);
    }
  if (!read_integers (object, "shape", entry->dim, LOOM_SHAPE_MAX_RANK, &entry->rank))
    return refuse (file, error, "has a damaged header: the shape of tensor “%s” is not a list of at most %d sizes",
                   name, LOOM_SHAPE_MAX_RANK);
  if (!read_integers (object, "data_offsets", offsets, 2, &n) || n != 2 || offsets[0] > offsets[1])
    return refuse (file, error, "has a damaged header: the data_offsets of tensor “%s” are not a range", name);
  if ((guint64)offsets[1] > data_length)
    return refuse (file, error,
                   "is truncated or damaged: tensor “%s” ends at byte %" G_GINT64_FORMAT
                   " of the data, which has %" G_GSIZE_FORMAT,
                   name, offsets[1], data_length);
  entry->begin = offsets[0];
  entry->end = offsets[1];
  /* The number of bytes follows only from the name of the type, which is unknown. */
  if (entry->unread != NULL)
    return TRUE;
  size = loom_dtype_size (entry->dtype);
  for (int d = 0; d < entry->rank; d++)
    {
      if (__builtin_mul_overflow (size, entry->dim[d], &size))
        return refuse (file, error, "has a damaged header: tensor “%s” is too large", name);
    }
  if (size != offsets[1] - offsets[0])
    return refuse (file, error,
                   "has a damaged header: tensor “%s” has %" G_GINT64_FORMAT
                   " bytes, but its shape and type need %" G_GINT64_FORMAT,
                   name, offsets[1] - offsets[0], size);
  return TRUE;
}

/* By offset; an empty tensor precedes the one that begins at its offset. */
static int
compare_offsets (gconstpointer a, gconstpointer b)
{
  const Entry *x = *(Entry *const *)a, *y = *(Entry *const *)b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return strcmp (x->name, y->name);
}

static gboolean
check_coverage (LoomSafetensors *self, gsize data_length, const char *file, GError **error)
{
  gsize covered = 0;
  const char *before = NULL;

  g_ptr_array_sort (self->entries, compare_offsets);
  for (guint i = 0; i < self->entries->len; i++)
    {
      const Entry *entry = g_ptr_array_index (self->entries, i);

      if (entry->begin < covered)
        return refuse (file, error, "has a damaged header: tensors “%s” and “%s” overlap", before, entry->name);
      if (entry->begin > covered)
        return refuse (file, error,
                       "has a damaged header: the %" G_GSIZE_FORMAT " bytes before tensor “%s” belong to no tensor",
                       entry->begin - covered, entry->name);
      covered = entry->end;
      before = entry->name;
      g_hash_table_insert (self->by_name, entry->name, GUINT_TO_POINTER (i + 1));
    }
  if (covered != data_length)
    return refuse (file, error, "has a damaged header: the last %" G_GSIZE_FORMAT " bytes of data belong to no tensor",
                   data_length - covered);
  return TRUE;
}

static gboolean
read_header (LoomSafetensors *self, const char *json, gsize json_length, gsize data_length, const char *file,
             GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GError) cause = NULL;
  JsonNode *root;
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  if (!loom_json_is_within (json, json_length, MAX_DEPTH) || !g_utf8_validate (json, json_length, NULL)
      || !json_parser_load_from_data (parser, json, json_length, &cause))
    return refuse (file, error,
                   "is not a safetensors file, or is damaged: its header is not JSON of the expected form");
  root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return refuse (file, error, "has a damaged header: it is not a JSON object");
  json_object_iter_init_ordered (&iter, json_node_get_object (root));
  while (json_object_iter_next_ordered (&iter, &name, &node))
    {
      if (g_str_equal (name, "__metadata__") ? !read_metadata (self, node, file, error)
                                             : !read_entry (self, name, node, data_length, file, error))
        return FALSE;
    }
  return check_coverage (self, data_length, file, error);
}

LoomSafetensors *
loom_safetensors_open_bytes (GBytes *bytes, const char *name, GError **error)
{
  g_autoptr (LoomSafetensors) self = NULL;
  const guint8 *data;
  gsize length;
  guint64 header_length = 0;

  g_return_val_if_fail (bytes != NULL && name != NULL, NULL);

  data = g_bytes_get_data (bytes, &length);
  g_autofree char *other = loom_file_kind_words (data, length, LOOM_FILE_WEIGHTS);
  if (other != NULL)
    {
      refuse (name, error, "%s", other);
      return NULL;
    }
  if (length < 8)
    {
      refuse (name, error, "is not a safetensors file: it is too short");
      return NULL;
    }
  for (int i = 0; i < 8; i++)
    header_length |= (guint64)data[i] << (8 * i);
  if (header_length > MIN (length - 8, MAX_HEADER))
    {
      refuse (name, error, "is not a safetensors file, or is truncated: its header would be longer than the file");
      return NULL;
    }

  self = g_new0 (LoomSafetensors, 1);
  self->path = g_strdup (name);
  self->bytes = g_bytes_ref (bytes);
  self->data_offset = 8 + header_length;
  self->entries = g_ptr_array_new_with_free_func (entry_free);
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (!read_header (self, (const char *)data + 8, header_length, length - self->data_offset, name, error))
    return NULL;
  return g_steal_pointer (&self);
}

LoomSafetensors *
loom_safetensors_open_in (LoomFolder *folder, const char *path, GError **error)
{
  g_autofree char *shown = loom_folder_path_of (folder, path);
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GBytes) bytes = NULL;

  g_return_val_if_fail (path != NULL, NULL);

  if (folder == NULL && g_file_test (path, G_FILE_TEST_IS_DIR))
    {
      refuse (path, error, "is a folder; name the file of weights in it, such as model.safetensors");
      return NULL;
    }
  mapped = folder != NULL ? loom_folder_map (folder, path, error) : loom_file_map (path, error);
  if (mapped == NULL)
    return NULL;
  bytes = g_mapped_file_get_bytes (mapped);
  return loom_safetensors_open_bytes (bytes, shown, error);
}

LoomSafetensors *
loom_safetensors_open (const char *path, GError **error)
{
  return loom_safetensors_open_in (NULL, path, error);
}

guint
loom_safetensors_count (const LoomSafetensors *self)
{
  return self->entries->len;
}

static const Entry *
get_entry (const LoomSafetensors *self, guint i)
{
  return g_ptr_array_index (self->entries, i);
}

const char *
loom_safetensors_name (const LoomSafetensors *self, guint i)
{
  g_return_val_if_fail (i < self->entries->len, NULL);

  return get_entry (self, i)->name;
}

LoomType
loom_safetensors_type (const LoomSafetensors *self, guint i)
{
  const Entry *entry = get_entry (self, i);
  LoomType type = { .dtype = entry->dtype, .shape = loom_shape (entry->rank, entry->dim) };

  return type;
}

LoomTensor *
loom_safetensors_tensor (const LoomSafetensors *self, guint i, GError **error)
{
  const Entry *entry;
  const guint8 *data;
  LoomTensor *t;

  g_return_val_if_fail (i < self->entries->len, NULL);

  entry = get_entry (self, i);
  if (entry->unread != NULL)
    {
      refuse (self->path, error,
              "has the tensor “%s” of the unsupported type “%s”; convert it to F32, F16 or BF16 and save it again",
              entry->name, entry->unread);
      return NULL;
    }
  data = (const guint8 *)g_bytes_get_data (self->bytes, NULL) + self->data_offset + entry->begin;
  if ((guintptr)data % loom_dtype_size (entry->dtype) == 0 || entry->begin == entry->end)
    return loom_tensor_new_from_bytes (entry->dtype, entry->rank, entry->dim, self->bytes,
                                       self->data_offset + entry->begin);
  t = loom_tensor_new (entry->dtype, entry->rank, entry->dim, error);
  if (t != NULL)
    memcpy (t->data, data, t->bytes);
  return t;
}

/* If several tensors are one, safetensors.torch.save_model writes it once, and the other names in the metadata: {alias:
 * name}. */
int
loom_safetensors_find (const LoomSafetensors *self, const char *name)
{
  gpointer at = g_hash_table_lookup (self->by_name, name);
  const char *other = at == NULL ? loom_safetensors_metadata (self, name) : NULL;

  if (other != NULL)
    at = g_hash_table_lookup (self->by_name, other);
  return (int)GPOINTER_TO_UINT (at) - 1;
}

const char *
loom_safetensors_unread (const LoomSafetensors *self, guint i)
{
  return get_entry (self, i)->unread;
}

const char *
loom_safetensors_metadata (const LoomSafetensors *self, const char *key)
{
  return g_hash_table_lookup (self->metadata, key);
}
