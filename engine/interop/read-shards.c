/* Reads a model that is saved as several files, by its index, and folders with one model.
 *
 * The index {"weight_map": {tensor: file}} is untrusted: the shards are files of its own folder, by name alone. */
#include "engine/core/loom-os.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/interop/tensor-file-private.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-json.h"

#define MAX_INDEX 100000000
/* {"weight_map": {name: file}} has two levels, and "metadata" may have another one. */
#define MAX_DEPTH 8

/* How a folder's model may be named, the likeliest first. A file that begins with this word and a dot is taken; with a
 * word NULL the only one that ends so. */
static const struct
{
  const char *word, *end;
} names_of_models[] = {
  { NULL, ".safetensors.index.json" },
  { "model", ".safetensors" },
  { NULL, ".safetensors" },
  { NULL, ".bin.index.json" },
  { "pytorch_model", ".bin" },
  { NULL, ".pth" },
  { NULL, ".pt" },
  { NULL, ".ckpt" },
  { NULL, ".gguf" },
};

/* The entries of a shard whose tensors the index says are in it. */
static gboolean
take_shard (LoomTensorFile *self, LoomFolder *folder, const char *shard, JsonObject *map, guint *taken, GError **error)
{
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *path = NULL;
  LoomTensorFile *file;
  GHashTableIter iter;
  gpointer name, value;
  guint first;

  if (strchr (shard, '/') != NULL || shard[0] == '.' || shard[0] == '\0')
    return loom_file_refuse (self->path, error, "names the shard “%s”, which is not a file in its folder", shard);
  mapped = loom_folder_map (folder, shard, error);
  if (mapped == NULL)
    return FALSE;
  bytes = g_mapped_file_get_bytes (mapped);
  path = loom_folder_path_of (folder, shard);
  file = loom_tensor_file_open_bytes (bytes, path, error);
  if (file == NULL)
    return FALSE;
  g_ptr_array_add (self->shards, file);
  first = self->sources->len;
  for (guint i = 0; i < file->sources->len; i++)
    {
      TensorSource source = g_array_index (file->sources, TensorSource, i);

      if (source.bytes != NULL)
        g_bytes_ref (source.bytes);
      g_array_append_val (self->sources, source);
    }
  g_hash_table_iter_init (&iter, file->metadata);
  while (g_hash_table_iter_next (&iter, &name, &value))
    if (!g_hash_table_contains (self->metadata, name))
      g_hash_table_insert (self->metadata, g_strdup (name), g_strdup (value));
  for (guint i = 0; i < file->entries->len; i++)
    {
      TensorEntry *entry = file->entries->pdata[i];

      if (g_strcmp0 (json_object_get_string_member_with_default (map, entry->name, NULL), shard) != 0)
        continue;
      file->entries->pdata[i] = tensor_entry_new ("");
      entry->source += first;
      if (!tensor_file_add (self, entry, error))
        return FALSE;
      ++*taken;
    }
  return TRUE;
}

static gboolean
read_index (LoomTensorFile *self, LoomFolder *folder, const char *name, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  g_autoptr (GHashTable) shards = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  g_autofree char *text = NULL;
  gsize length;
  JsonObject *map = NULL;
  JsonNode *root, *node;
  JsonObjectIter iter;
  const char *tensor;
  guint taken = 0;

  if (!loom_folder_read (folder, name, MAX_INDEX, &text, &length, error))
    return FALSE;
  if (loom_json_is_within (text, length, MAX_DEPTH) && g_utf8_validate (text, length, NULL)
      && json_parser_load_from_data (parser, text, length, NULL))
    {
      root = json_parser_get_root (parser);
      node = root != NULL && JSON_NODE_HOLDS_OBJECT (root)
                 ? json_object_get_member (json_node_get_object (root), "weight_map")
                 : NULL;
      map = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
    }
  if (map == NULL)
    return loom_file_refuse (self->path, error, "is not the index of a sharded model: it has no “weight_map”");
  json_object_iter_init_ordered (&iter, map);
  while (json_object_iter_next_ordered (&iter, &tensor, &node))
    {
      const char *shard = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;

      if (shard == NULL)
        return loom_file_refuse (self->path, error, "is a damaged index: it names no file for “%s”", tensor);
      if (g_hash_table_add (shards, (gpointer)shard))
        g_ptr_array_add (order, (gpointer)shard);
    }
  for (guint i = 0; i < order->len; i++)
    if (!take_shard (self, folder, order->pdata[i], map, &taken, error))
      return FALSE;
  if (taken == json_object_get_size (map))
    return TRUE;
  json_object_iter_init_ordered (&iter, map);
  while (json_object_iter_next_ordered (&iter, &tensor, &node))
    if (loom_tensor_file_find (self, tensor) < 0)
      return loom_file_refuse (self->path, error, "names the tensor “%s” in “%s”, which does not have it", tensor,
                               json_node_get_string (node));
  return TRUE;
}

/* The only name that begins and ends so. n counts them. */
static const char *
find_name (char *const *names, const char *word, const char *end, guint *n)
{
  const char *found = NULL;

  *n = 0;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_str_has_suffix (names[i], end)
        && (word == NULL || (g_str_has_prefix (names[i], word) && g_str_equal (names[i] + strlen (word), end))))
      {
        found = names[i];
        ++*n;
      }
  return *n == 1 ? found : NULL;
}

/* The name of the folder's index, or of its file of weights. */
static char *
find_model (LoomFolder *folder, const char *path, GError **error)
{
  g_auto (GStrv) names = loom_folder_names (folder, error);
  gboolean has_several = FALSE;

  if (names == NULL)
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names_of_models); i++)
    {
      guint n;
      const char *found = find_name (names, names_of_models[i].word, names_of_models[i].end, &n);

      if (found != NULL)
        return g_strdup (found);
      has_several = has_several || n > 1;
    }
  loom_file_refuse (path, error, "is a folder with %s; name the file of weights in it, such as model.safetensors",
                    has_several ? "several files of weights" : "no file of weights");
  return NULL;
}

gboolean
read_shards (LoomTensorFile *self, const char *path, GError **error)
{
  const gboolean is_folder = loom_path_is_folder (path);
  g_autofree char *above = is_folder ? g_strdup (path) : g_path_get_dirname (path);
  g_autoptr (LoomFolder) folder = loom_folder_open (above, error);
  g_autofree char *name = NULL;
  g_autoptr (GMappedFile) mapped = NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (folder == NULL)
    return FALSE;
  name = is_folder ? find_model (folder, path, error) : g_path_get_basename (path);
  if (name == NULL)
    return FALSE;
  if (g_str_has_suffix (name, ".json"))
    return read_index (self, folder, name, error);
  mapped = loom_folder_map (folder, name, error);
  if (mapped == NULL)
    return FALSE;
  bytes = g_mapped_file_get_bytes (mapped);
  return read_any (self, bytes, error);
}
