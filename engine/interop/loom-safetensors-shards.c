/* Writes tensors as shards with an index, as Hugging Face's libraries do: a shard ends before the tensor that would
 * make it larger than allowed. Names are those of huggingface_hub (NAME-00001-of-00002.safetensors), so that both read
 * the other's files. */
#include "engine/interop/loom-safetensors.h"

#include "engine/core/loom-atomic-file.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/core/loom-folder.h"
#include "engine/core/loom-json.h"

#define SUFFIX ".safetensors"
/* Of an index that is replaced; see read-shards.c. */
#define MOST_INDEX  100000000
#define MOST_LEVELS 8

/* Arrays of LoomNamedTensor, in order. A tensor that is larger than a shard has one of its own. */
static GPtrArray *
split (GPtrArray *tensors, double most)
{
  GPtrArray *shards = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  GPtrArray *shard = NULL;
  double bytes = 0;

  for (guint i = 0; i < tensors->len; i++)
    {
      const LoomNamedTensor *named = tensors->pdata[i];

      bytes += (double)named->tensor->bytes;
      if (shard == NULL || bytes > most)
        {
          shard = g_ptr_array_new ();
          g_ptr_array_add (shards, shard);
          bytes = (double)named->tensor->bytes;
        }
      g_ptr_array_add (shard, tensors->pdata[i]);
    }
  return shards;
}

/* The file's name without its suffix, so that those of shards and the index begin with it. */
static char *
stem_of (const char *path)
{
  return g_strndup (path, strlen (path) - (g_str_has_suffix (path, SUFFIX) ? strlen (SUFFIX) : 0));
}

static char *
build_index (GPtrArray *shards, const char *stem)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *name = g_path_get_basename (stem);
  gint64 total = 0;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "weight_map");
  json_builder_begin_object (builder);
  for (guint i = 0; i < shards->len; i++)
    {
      const GPtrArray *shard = shards->pdata[i];
      g_autofree char *file = g_strdup_printf ("%s-%05u-of-%05u" SUFFIX, name, i + 1, shards->len);

      for (guint k = 0; k < shard->len; k++)
        {
          const LoomNamedTensor *named = shard->pdata[k];

          total += (gint64)named->tensor->bytes;
          json_builder_set_member_name (builder, named->name);
          json_builder_add_string_value (builder, file);
        }
    }
  json_builder_end_object (builder);
  json_builder_set_member_name (builder, "metadata");
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "total_size");
  json_builder_add_int_value (builder, total);
  json_builder_end_object (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  json_generator_set_root (generator, root);
  json_generator_set_pretty (generator, TRUE);
  return json_generator_to_data (generator, NULL);
}

static const char *
place_of (const char *path, LoomFilePlace place, gpointer data)
{
  return place != NULL ? place (path, data) : path;
}

void
loom_safetensors_remove_shards (const char *path)
{
  g_autofree char *stem = stem_of (path), *above = g_path_get_dirname (path), *name = g_path_get_basename (stem);
  g_autofree char *index = g_strconcat (name, SUFFIX ".index.json", NULL), *begin = g_strconcat (name, "-", NULL);
  g_autofree char *text = NULL;
  g_autoptr (LoomFolder) folder = loom_folder_open (above, NULL);
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  JsonNode *node = NULL;
  gsize length;

  if (folder == NULL || !loom_folder_read (folder, index, MOST_INDEX, &text, &length, NULL))
    return;
  if (loom_json_is_within (text, length, MOST_LEVELS) && g_utf8_validate (text, (gssize)length, NULL)
      && json_parser_load_from_data (parser, text, (gssize)length, NULL)
      && (node = json_parser_get_root (parser)) != NULL && JSON_NODE_HOLDS_OBJECT (node))
    node = json_object_get_member (json_node_get_object (node), "weight_map");
  else
    node = NULL;
  loom_folder_remove (folder, index);
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  g_autoptr (GList) files = json_object_get_values (json_node_get_object (node));
  for (const GList *l = files; l != NULL; l = l->next)
    {
      const char *shard = JSON_NODE_HOLDS_VALUE ((JsonNode *)l->data) ? json_node_get_string (l->data) : NULL;

      if (shard != NULL && strchr (shard, '/') == NULL && g_str_has_prefix (shard, begin)
          && g_str_has_suffix (shard, SUFFIX))
        loom_folder_remove (folder, shard);
    }
}

gboolean
loom_safetensors_save_shards (const char *path, GPtrArray *tensors, double most, LoomFilePlace place, gpointer data,
                              GError **error)
{
  g_autoptr (GPtrArray) shards = split (tensors, most);
  g_autofree char *stem = stem_of (path);
  g_autofree char *index = g_strconcat (stem, SUFFIX ".index.json", NULL), *text = NULL;

  if (shards->len < 2)
    {
      if (!loom_safetensors_save (place_of (path, place, data), tensors, NULL, error))
        return FALSE;
      if (place == NULL)
        loom_safetensors_remove_shards (path);
      return TRUE;
    }
  for (guint i = 0; i < shards->len; i++)
    {
      g_autofree char *shard = g_strdup_printf ("%s-%05u-of-%05u" SUFFIX, stem, i + 1, shards->len);

      if (!loom_safetensors_save (place_of (shard, place, data), shards->pdata[i], NULL, error))
        return FALSE;
    }
  text = build_index (shards, stem);
  return loom_file_replace (place_of (index, place, data), text, strlen (text), error);
}
