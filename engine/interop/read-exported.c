/* Reads the weights of an exported PyTorch program (.pt2, torch.export.save): raw bytes of each tensor, which
 * data/weights/model_weights_config.json describes. The numbers of types are those of torch/_export/serde/schema.py. */
#include "engine/interop/tensor-file-private.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/core/loom-json.h"

#define CONFIG    "model_weights_config.json"
#define MAX_DEPTH 12
/* Bytes of the descriptions, in addition to those that a file of its size may have. */
#define MAX_CONFIG (1 << 20)

static const char *const types[] = {
  [1] = "U8",    [2] = "I8",   [3] = "I16",      [4] = "I32",      [5] = "I64",          [6] = "F16",
  [7] = "F32",   [8] = "F64",  [9] = "C32",      [10] = "C64",     [11] = "C128",        [12] = "BOOL",
  [13] = "BF16", [28] = "U16", [29] = "F8_E4M3", [30] = "F8_E5M2", [31] = "F8_E4M3FNUZ", [32] = "F8_E5M2FNUZ",
};

/* The value of a member of this type; NULL if there is none. */
static JsonNode *
get_value (JsonObject *object, const char *member, GType type)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, member) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == type ? node : NULL;
}

static JsonObject *
get_object (JsonObject *object, const char *member)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, member) : NULL;

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

/* {"as_int": n}; −1: it is none. */
static gint64
get_size (JsonNode *node)
{
  JsonObject *object = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *value = get_value (object, "as_int", G_TYPE_INT64);

  return value != NULL ? json_node_get_int (value) : -1;
}

static gboolean
get_sizes (JsonObject *object, const char *member, gint64 *size, int *n)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, member) : NULL;
  JsonArray *array = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (array == NULL || json_array_get_length (array) > LOOM_SHAPE_MAX_RANK)
    return FALSE;
  *n = (int)json_array_get_length (array);
  for (int d = 0; d < *n; d++)
    {
      size[d] = get_size (json_array_get_element (array, (guint)d));
      if (size[d] < 0)
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_weight (LoomTensorFile *self, const char *folder, const char *name, JsonObject *weight, GError **error)
{
  JsonObject *meta = get_object (weight, "tensor_meta");
  JsonNode *name_of = get_value (weight, "path_name", G_TYPE_STRING),
           *type_of = get_value (meta, "dtype", G_TYPE_INT64);
  JsonNode *pickled = get_value (weight, "use_pickle", G_TYPE_BOOLEAN);
  const char *file = name_of != NULL ? json_node_get_string (name_of) : NULL;
  const gint64 type = type_of != NULL ? json_node_get_int (type_of) : 0;
  g_autofree char *path = g_strconcat (folder, file != NULL ? file : "", NULL);
  const gint64 member = file != NULL ? zip_archive_locate (self->zip, path) : -1;
  TensorEntry *entry = tensor_entry_new (name);
  gint64 offset = meta != NULL ? get_size (json_object_get_member (meta, "storage_offset")) : -1;
  int n = -1;

  if (meta == NULL || offset < 0 || member < 0 || !get_sizes (meta, "sizes", entry->dim, &entry->rank)
      || !get_sizes (meta, "strides", entry->stride, &n) || n != entry->rank)
    {
      tensor_entry_free (entry);
      return loom_file_refuse (self->path, error, "is damaged: its description of “%s” is not complete", name);
    }
  const char *known = type > 0 && type < (gint64)G_N_ELEMENTS (types) ? types[type] : NULL;
  entry->encoding = known != NULL ? tensor_encoding_named (known) : NULL;
  if (pickled != NULL && json_node_get_boolean (pickled))
    entry->encoding = NULL;
  if (entry->encoding == NULL)
    entry->unread = g_strdup (known != NULL ? known : "pickle");
  else if (__builtin_mul_overflow (offset, entry->encoding->bytes, &offset))
    offset = G_MAXINT64; /* outside the bytes */
  entry->is_strided = !tensor_entry_is_dense (entry);
  entry->offset = (gsize)offset;
  entry->source = tensor_file_add_source (self, NULL, (guint64)member);
  return tensor_file_add (self, entry, error);
}

gboolean
read_exported (LoomTensorFile *self, GError **error)
{
  const guint64 member = (guint64)zip_archive_find (self->zip, CONFIG);
  const char *path = zip_archive_name (self->zip, member);
  g_autofree char *folder = g_strndup (path, strlen (path) - strlen (CONFIG));
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  JsonObject *config = NULL;
  JsonObjectIter iter;
  const char *name, *text;
  JsonNode *node;
  gsize length;

  if (zip_archive_size (self->zip, member) > 16 * zip_archive_bytes (self->zip) + MAX_CONFIG)
    return loom_file_refuse (self->path, error, "is damaged: its %s is too long", CONFIG);
  bytes = zip_archive_read (self->zip, member, G_MAXSIZE, error);
  if (bytes == NULL)
    return FALSE;
  text = g_bytes_get_data (bytes, &length);
  if (loom_json_is_within (text, length, MAX_DEPTH) && g_utf8_validate (text, (gssize)length, NULL)
      && json_parser_load_from_data (parser, text, (gssize)length, NULL))
    {
      node = json_parser_get_root (parser);
      config
          = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? get_object (json_node_get_object (node), "config") : NULL;
    }
  if (config == NULL)
    return loom_file_refuse (self->path, error, "is damaged: %s does not describe weights", CONFIG);
  json_object_iter_init_ordered (&iter, config);
  while (json_object_iter_next_ordered (&iter, &name, &node))
    if (!add_weight (self, folder, name, JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL, error))
      return FALSE;
  return TRUE;
}
