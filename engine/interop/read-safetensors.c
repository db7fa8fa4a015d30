/* Reads safetensors files.
 *
 * The header is checked as strictly as by the reference implementation (every byte of the data belongs to exactly one
 * tensor, every size matches its shape), so nothing after opening can read outside the file. */
#include "engine/interop/loom-safetensors.h"
#include "engine/interop/loom-file-kind.h"
#include "engine/interop/tensor-file-private.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/core/loom-file.h"
#include "engine/core/loom-json.h"

/* The limit of the reference implementation. */
#define MAX_HEADER 100000000
/* {"name": {"shape": [...]}} has three levels. */
#define MAX_DEPTH 3

/* The tensor of an entry of the header, and its bytes in the data. */
typedef struct
{
  TensorEntry *entry;
  gsize begin, end;
} Range;

typedef struct
{
  LoomTensorFile *file;
  GArray *ranges; /* Range */
} Reader;

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
read_metadata (LoomTensorFile *self, JsonNode *node, const char *file, GError **error)
{
  JsonObjectIter iter;
  const char *key;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return loom_file_refuse (file, error, "has a damaged header: __metadata__ is not a map of strings");
  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &key, &value))
    {
      const char *text = read_text (value);

      if (text == NULL)
        return loom_file_refuse (file, error, "has a damaged header: __metadata__ is not a map of strings");
      /* A JSON string may hold half of a surrogate pair, which is no UTF-8. */
      g_hash_table_insert (self->metadata, g_utf8_make_valid (key, -1), g_utf8_make_valid (text, -1));
    }
  return TRUE;
}

static gboolean
read_entry (Reader *self, const char *name, JsonNode *node, gsize data_length, const char *file, GError **error)
{
  TensorEntry *entry = tensor_entry_new (name);
  Range range = { .entry = entry };
  JsonObject *object;
  const char *dtype;
  gint64 offsets[2], size;
  int n;

  g_array_append_val (self->ranges, range);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return loom_file_refuse (file, error, "has a damaged header at tensor “%s”", name);
  object = json_node_get_object (node);

  dtype = read_text (json_object_get_member (object, "dtype"));
  if (dtype == NULL)
    return loom_file_refuse (file, error, "has a damaged header: tensor “%s” has no dtype", name);
  entry->encoding = tensor_encoding_named (dtype);
  if (entry->encoding == NULL)
    entry->unread = g_strdup (dtype);
  if (!read_integers (object, "shape", entry->dim, LOOM_SHAPE_MAX_RANK, &entry->rank))
    return loom_file_refuse (file, error,
                             "has a damaged header: the shape of tensor “%s” is not a list of at most %d sizes", name,
                             LOOM_SHAPE_MAX_RANK);
  /* The real and the imaginary part are a further axis, as in torch.view_as_real(). */
  if (g_strcmp0 (entry->unread, "C64") == 0 && entry->rank < LOOM_SHAPE_MAX_RANK)
    {
      entry->dim[entry->rank++] = 2;
      entry->encoding = tensor_encoding_of (LOOM_F32);
      g_clear_pointer (&entry->unread, g_free);
    }
  if (!read_integers (object, "data_offsets", offsets, 2, &n) || n != 2 || offsets[0] > offsets[1])
    return loom_file_refuse (file, error, "has a damaged header: the data_offsets of tensor “%s” are not a range",
                             name);
  if ((guint64)offsets[1] > data_length)
    return loom_file_refuse (file, error,
                             "is truncated or damaged: tensor “%s” ends at byte %" G_GINT64_FORMAT
                             " of the data, which has %" G_GSIZE_FORMAT,
                             name, offsets[1], data_length);
  g_array_index (self->ranges, Range, self->ranges->len - 1).begin = (gsize)offsets[0];
  g_array_index (self->ranges, Range, self->ranges->len - 1).end = (gsize)offsets[1];
  /* The number of bytes follows only from the name of the type, which is unknown. */
  if (entry->unread != NULL)
    return TRUE;
  size = tensor_entry_span (entry);
  if (size < 0)
    return loom_file_refuse (file, error, "has a damaged header: tensor “%s” is too large", name);
  if (size != offsets[1] - offsets[0])
    return loom_file_refuse (file, error,
                             "has a damaged header: tensor “%s” has %" G_GINT64_FORMAT
                             " bytes, but its shape and type need %" G_GINT64_FORMAT,
                             name, offsets[1] - offsets[0], size);
  return TRUE;
}

/* By offset; an empty tensor precedes the one that begins at its offset. */
static int
compare_offsets (gconstpointer a, gconstpointer b)
{
  const Range *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return strcmp (x->entry->name, y->entry->name);
}

/* Gives the entries to the file. */
static gboolean
add_entries (Reader *self, gsize data_offset, gsize data_length, guint source, const char *file, GError **error)
{
  gsize covered = 0;
  const char *before = NULL;

  g_array_sort (self->ranges, compare_offsets);
  for (guint i = 0; i < self->ranges->len; i++)
    {
      Range *range = &g_array_index (self->ranges, Range, i);
      TensorEntry *entry = range->entry;

      if (range->begin < covered)
        return loom_file_refuse (file, error, "has a damaged header: tensors “%s” and “%s” overlap", before,
                                 entry->name);
      if (range->begin > covered)
        return loom_file_refuse (
            file, error, "has a damaged header: the %" G_GSIZE_FORMAT " bytes before tensor “%s” belong to no tensor",
            range->begin - covered, entry->name);
      covered = range->end;
      before = entry->name;
      entry->source = source;
      entry->offset = data_offset + range->begin;
      range->entry = NULL;
      if (!tensor_file_add (self->file, entry, error))
        return FALSE;
    }
  if (covered != data_length)
    return loom_file_refuse (file, error,
                             "has a damaged header: the last %" G_GSIZE_FORMAT " bytes of data belong to no tensor",
                             data_length - covered);
  return TRUE;
}

static void
clear_range (gpointer data)
{
  g_clear_pointer (&((Range *)data)->entry, tensor_entry_free);
}

static gboolean
read_header (Reader *self, const char *json, gsize json_length, gsize data_length, const char *file, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GError) cause = NULL;
  JsonNode *root;
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  if (!loom_json_is_within (json, json_length, MAX_DEPTH) || !g_utf8_validate (json, json_length, NULL)
      || !json_parser_load_from_data (parser, json, json_length, &cause))
    return loom_file_refuse (file, error,
                             "is not a safetensors file, or is damaged: its header is not JSON of the expected form");
  root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return loom_file_refuse (file, error, "has a damaged header: it is not a JSON object");
  json_object_iter_init_ordered (&iter, json_node_get_object (root));
  while (json_object_iter_next_ordered (&iter, &name, &node))
    {
      if (g_str_equal (name, "__metadata__") ? !read_metadata (self->file, node, file, error)
                                             : !read_entry (self, name, node, data_length, file, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
read_safetensors (LoomTensorFile *file, GBytes *bytes, GError **error)
{
  const char *name = file->path;
  g_autoptr (GArray) ranges = g_array_new (FALSE, TRUE, sizeof (Range));
  Reader self = { file, ranges };
  const guint8 *data;
  gsize length, data_offset;
  guint64 header_length = 0;

  g_array_set_clear_func (ranges, clear_range);
  data = g_bytes_get_data (bytes, &length);
  if (length < 8)
    return loom_file_refuse (name, error, "is not a safetensors file: it is too short");
  for (int i = 0; i < 8; i++)
    header_length |= (guint64)data[i] << (8 * i);
  if (header_length > MIN (length - 8, MAX_HEADER))
    return loom_file_refuse (name, error,
                             "is not a safetensors file, or is truncated: its header would be longer than the file");
  data_offset = 8 + header_length;
  return read_header (&self, (const char *)data + 8, header_length, length - data_offset, name, error)
         && add_entries (&self, data_offset, length - data_offset, tensor_file_add_source (file, bytes, 0), name,
                         error);
}

LoomTensorFile *
loom_safetensors_open_bytes (GBytes *bytes, const char *name, GError **error)
{
  g_autoptr (LoomTensorFile) self = NULL;
  g_autofree char *other = NULL;
  const guint8 *data;
  gsize length;

  g_return_val_if_fail (bytes != NULL && name != NULL, NULL);

  data = g_bytes_get_data (bytes, &length);
  other = loom_file_kind_words (data, length, LOOM_FILE_WEIGHTS);
  self = tensor_file_new (name);
  if (other != NULL)
    {
      loom_file_refuse (name, error, "%s", other);
      return NULL;
    }
  return read_safetensors (self, bytes, error) ? g_steal_pointer (&self) : NULL;
}

LoomTensorFile *
loom_safetensors_open_in (LoomFolder *folder, const char *path, GError **error)
{
  g_autofree char *shown = loom_folder_path_of (folder, path);
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GBytes) bytes = NULL;

  g_return_val_if_fail (path != NULL, NULL);

  mapped = folder != NULL ? loom_folder_map (folder, path, error) : loom_file_map (path, error);
  if (mapped == NULL)
    return NULL;
  bytes = g_mapped_file_get_bytes (mapped);
  return loom_safetensors_open_bytes (bytes, shown, error);
}

LoomTensorFile *
loom_safetensors_open (const char *path, GError **error)
{
  return loom_safetensors_open_in (NULL, path, error);
}
