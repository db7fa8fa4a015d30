/* Pictures in tar archives, as the library WebDataset writes them: the members of a sample follow each other, and have
 * the same name up to the first point: 000017.jpg, 000017.cls.
 *
 * Pictures are read in place, each when a batch needs it. */
#include <stdlib.h>
#include <string.h>

#include <gio/gio.h>
#include <json-glib/json-glib.h>

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-file.h"
#include "engine/core/loom-json.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-pictures.h"
#include "engine/data/loom-tar.h"

#define MOST_LABEL_BYTES (1 << 20)
#define MOST_SHARDS      100000

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL),
    .doc = "The tar archive, or several: name-{000..012}.tar. A sample is a picture and its class, KEY.jpg and KEY.cls "
           "or KEY.json." },
  { LOOM_OPTION ("test_path", PATH, ""), .doc = "Archives of the same form for testing." },
  { LOOM_OPTION ("label", STRING, "label"),
    .doc = "The member of the objects in KEY.json that is the class, a whole number or a name." },
  LOOM_PICTURES_PARAMS,
  LOOM_DEALT_PARAMS ("pictures", "0", ", if test_path is not set"),
  LOOM_SPLIT_PARAM,
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

/* ---- shards ------------------------------------------------------------------------- */

/* The paths that name-{000..012}.tar means. (transfer full) */
static char **
expand (const char *path, GError **error)
{
  g_autoptr (GRegex) pattern = g_regex_new ("^(.*)\\{(\\d{1,9})\\.\\.(\\d{1,9})\\}(.*)$", G_REGEX_DOTALL, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  g_autoptr (GStrvBuilder) paths = g_strv_builder_new ();

  if (!g_regex_match (pattern, path, 0, &match))
    {
      g_strv_builder_add (paths, path);
      return g_strv_builder_end (paths);
    }
  g_autofree char *before = g_match_info_fetch (match, 1), *first = g_match_info_fetch (match, 2),
                  *last = g_match_info_fetch (match, 3), *after = g_match_info_fetch (match, 4);
  const int from = atoi (first), to = atoi (last);

  if (to < from || to - from >= MOST_SHARDS)
    {
      loom_file_refuse (path, error, "names no archives from the first to the last, at most %d", MOST_SHARDS);
      return NULL;
    }
  for (int i = from; i <= to; i++)
    {
      g_autofree char *shard = g_strdup_printf ("%s%0*d%s", before, (int)strlen (first), i, after);

      g_strv_builder_add (paths, shard);
    }
  return g_strv_builder_end (paths);
}

static void
each_link (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
           gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data)
{
  static const char *const names[] = { "path", "test_path" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = loom_option_path (klass, options, names[i]);
      g_auto (GStrv) shards = path != NULL ? expand (path, NULL) : NULL;
      const gboolean is_whole = path != NULL && g_path_is_absolute (loom_option_string (klass, options, names[i]));

      for (char **shard = shards; shard != NULL && *shard != NULL; shard++)
        {
          g_autofree char *target = loom_file_target (*shard);

          /* An archive that the option names by its real path is meant by it. */
          if (!is_whole || !g_str_equal (target, *shard))
            follow (names[i], *shard, data);
        }
    }
}

/* ---- samples ------------------------------------------------------------------------ */

/* An archive while it is read: the members of one key. */
typedef struct
{
  const char *path, *label_member;
  LoomPictures *pictures;
  GPtrArray *labels; /* by picture */
  char *key, *picture, *label;
  guint64 offset, size;
} Shard;

static void
shard_clear (Shard *self)
{
  g_clear_pointer (&self->key, g_free);
  g_clear_pointer (&self->picture, g_free);
  g_clear_pointer (&self->label, g_free);
}

/* Adds the sample whose members were read. */
static gboolean
end_sample (Shard *self, GError **error)
{
  g_autofree char *name = NULL;

  if (self->picture != NULL && self->label == NULL)
    return loom_file_refuse (self->path, error, "has a picture “%s” without a class in %s.cls or %s.json",
                             self->picture, self->key, self->key);
  if (self->picture != NULL)
    {
      name = g_strdup_printf ("%s: %s", self->path, self->picture);
      loom_pictures_add (self->pictures, name, self->path, self->offset, (gint64)self->size, 0);
      g_ptr_array_add (self->labels, g_steal_pointer (&self->label));
    }
  shard_clear (self);
  return TRUE;
}

/* A whole number or a text; NULL for others. */
static char *
label_of (JsonNode *value)
{
  if (json_node_get_value_type (value) == G_TYPE_INT64)
    return g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (value));
  return g_strdup (json_node_get_value_type (value) == G_TYPE_STRING ? json_node_get_string (value) : NULL);
}

static gboolean
read_label (Shard *self, const char *name, gboolean is_json, guint64 offset, guint64 size, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GFile) file = g_file_new_for_path (self->path);
  g_autoptr (GFileInputStream) stream = g_file_read (file, NULL, NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root, *member;
  gsize n = 0;

  if (size > MOST_LABEL_BYTES)
    return loom_file_refuse (self->path, error, "has a class “%s” of %" G_GUINT64_FORMAT " bytes", name, size);
  text = g_malloc0 ((gsize)size + 1);
  if (stream == NULL || !g_seekable_seek (G_SEEKABLE (stream), (goffset)offset, G_SEEK_SET, NULL, NULL)
      || !g_input_stream_read_all (G_INPUT_STREAM (stream), text, (gsize)size, &n, NULL, NULL) || n < size)
    return loom_file_refuse (self->path, error, "cannot be read at “%s”", name);
  g_free (self->label);
  self->label = NULL;
  if (!is_json)
    self->label = g_strdup (g_strstrip (text));
  else if (loom_json_is_within (text, (gsize)size, LOOM_JSON_LEVELS)
           && json_parser_load_from_data (parser, text, (gssize)size, NULL)
           && (root = json_parser_get_root (parser)) != NULL && JSON_NODE_HOLDS_OBJECT (root)
           && (member = json_object_get_member (json_node_get_object (root), self->label_member)) != NULL
           && JSON_NODE_HOLDS_VALUE (member))
    self->label = label_of (member);
  if (self->label != NULL && *self->label != '\0' && g_utf8_validate (self->label, -1, NULL))
    return TRUE;
  if (is_json)
    return loom_file_refuse (
        self->path, error, "has “%s” without a class “%s”, a whole number or a name; label=\"…\" names another member",
        name, self->label_member);
  return loom_file_refuse (self->path, error, "has no class in “%s”", name);
}

static gboolean
add_member (const char *name, guint64 offset, guint64 size, gpointer data, GError **error)
{
  Shard *self = data;
  const char *base = strrchr (name, '/'), *point = strchr (base != NULL ? base + 1 : name, '.');
  g_autofree char *key = point != NULL ? g_strndup (name, (gsize)(point - name)) : NULL;
  g_autofree char *ending = point != NULL ? g_ascii_strdown (point, -1) : NULL;

  if (key == NULL || point == name || point[-1] == '/' || !g_utf8_validate (name, -1, NULL))
    return TRUE;
  if (g_strcmp0 (key, self->key) != 0)
    {
      if (!end_sample (self, error))
        return FALSE;
      self->key = g_steal_pointer (&key);
    }
  if (loom_dataset_is_picture_name (ending))
    {
      if (self->picture != NULL)
        return loom_file_refuse (self->path, error, "has two pictures of one sample, “%s” and “%s”", self->picture,
                                 name);
      self->picture = g_strdup (name);
      self->offset = offset;
      self->size = size;
    }
  else if (g_str_equal (ending, ".cls") || g_str_equal (ending, ".cls.txt"))
    return read_label (self, name, FALSE, offset, size, error);
  else if (g_str_equal (ending, ".json") && self->label == NULL)
    return read_label (self, name, TRUE, offset, size, error);
  return TRUE;
}

static gboolean
add_shards (LoomPictures *pictures, const LoomDatasetOptions *options, const char *path, GPtrArray *labels,
            GError **error)
{
  const char *label_member = loom_option_string (loom_pictures_dataset (pictures)->klass, options, "label");
  g_auto (GStrv) shards = expand (path, error);

  for (char **at = shards; at != NULL && *at != NULL; at++)
    {
      Shard shard = { .path = *at, .label_member = label_member, .pictures = pictures, .labels = labels };
      const guint before = labels->len;
      gboolean good = loom_dataset_check_file (*at, NULL, error) && loom_tar_each (*at, add_member, &shard, error)
                      && end_sample (&shard, error);

      shard_clear (&shard);
      if (good && labels->len == before)
        good = loom_file_refuse (*at, error, "contains no picture (KEY.jpg with KEY.cls or KEY.json)");
      if (!good)
        return FALSE;
    }
  return shards != NULL;
}

/* ---- the data set -------------------------------------------------------------------- */

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_auto (GStrv) shards = NULL;

  loom_pictures_describe (klass, options, info);
  shards = expand (path, error);
  if (shards == NULL || !loom_dataset_check_file (shards[0], NULL, error))
    return FALSE;
  info->n_classes = -1;
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  return loom_pictures_open (klass, options, add_shards, FALSE, error);
}

const LoomDatasetClass loom_dataset_webdataset = {
  .name = "webdataset",
  .title = "WebDataset",
  .doc = "Pictures and classes in tar archives, as the library WebDataset writes them.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_pictures_read,
  .digest = loom_pictures_digest,
  .each_link = each_link,
  .free = loom_pictures_free,
  .has_pictures = TRUE,
};
