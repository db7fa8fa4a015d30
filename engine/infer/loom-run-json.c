/* Reads the members of the JSON files in a run's folder strictly.
 *
 * A user can edit or damage the files, and json-glib reads a member of another type as zero with a warning. Here type
 * and range of each member are checked, and an error names the file and the member. */
#include "engine/infer/loom-run-json.h"

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-json.h"

#include <math.h>
#include <string.h>

#define MAX_BYTES 64000000
#define PLACE     "<data>:" /* with which json-glib begins its sentences, before line and column */

static gboolean
wrong (const LoomRunJson *json, const char *name, const char *what, GError **error)
{
  return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: its “%s” %s.", json->path, name, what);
}

static JsonNode *
member (const LoomRunJson *json, const char *name, GError **error)
{
  JsonNode *node = json_object_get_member (json->object, name);

  if (node == NULL)
    wrong (json, name, "is missing", error);
  return node;
}

gboolean
loom_run_json_int (const LoomRunJson *json, const char *name, gint64 min, gint64 max, gint64 *value, GError **error)
{
  JsonNode *node = member (json, name, error);

  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return wrong (json, name, "is not an integer", error);
  *value = json_node_get_int (node);
  if (*value >= min && *value <= max)
    return TRUE;
  g_autofree char *range
      = g_strdup_printf ("is %" G_GINT64_FORMAT ", outside %" G_GINT64_FORMAT " … %" G_GINT64_FORMAT, *value, min, max);
  return wrong (json, name, range, error);
}

gboolean
loom_run_json_double (const LoomRunJson *json, const char *name, gboolean may_be_null, double *value, GError **error)
{
  JsonNode *node = member (json, name, error);

  if (node == NULL)
    return FALSE;
  if (may_be_null && JSON_NODE_HOLDS_NULL (node))
    {
      *value = NAN;
      return TRUE;
    }
  GType type = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_INVALID;
  if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
    return wrong (json, name, "is not a number", error);
  *value = json_node_get_double (node);
  return isfinite (*value) || wrong (json, name, "is not finite", error);
}

gboolean
loom_run_json_doubles (const LoomRunJson *json, const char *name, guint n, double *value, GError **error)
{
  JsonNode *node = member (json, name, error);

  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_ARRAY (node) || json_array_get_length (json_node_get_array (node)) != n)
    return wrong (json, name, "does not have as many numbers as the graph has classes or columns", error);
  for (guint i = 0; i < n; i++)
    {
      JsonNode *one = json_array_get_element (json_node_get_array (node), i);
      GType type = JSON_NODE_HOLDS_VALUE (one) ? json_node_get_value_type (one) : G_TYPE_INVALID;
      if (JSON_NODE_HOLDS_NULL (one))
        value[i] = NAN;
      else if (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE)
        value[i] = json_node_get_double (one);
      else
        return wrong (json, name, "contains a value that is not a number", error);
    }
  return TRUE;
}

gboolean
loom_run_json_string (const LoomRunJson *json, const char *name, const char **value, GError **error)
{
  JsonNode *node = member (json, name, error);

  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return wrong (json, name, "is not a string", error);
  *value = json_node_get_string (node);
  return TRUE;
}

gboolean
loom_run_json_object (const LoomRunJson *json, const char *name, LoomRunJson *value, GError **error)
{
  JsonNode *node = member (json, name, error);

  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return wrong (json, name, "is not an object", error);
  *value = (LoomRunJson){ json->path, json_node_get_object (node) };
  return TRUE;
}

gboolean
loom_run_json_objects (const LoomRunJson *json, const char *name, guint n, JsonArray **value, GError **error)
{
  JsonNode *node = member (json, name, error);

  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return wrong (json, name, "is not a list", error);
  *value = json_node_get_array (node);
  if (json_array_get_length (*value) != n)
    return wrong (json, name, "does not have as many entries as the graph", error);
  for (guint i = 0; i < n; i++)
    if (!JSON_NODE_HOLDS_OBJECT (json_array_get_element (*value, i)))
      return wrong (json, name, "contains a value that is not an object", error);
  return TRUE;
}

gboolean
loom_run_json_root (JsonParser *parser, LoomFolder *folder, const char *name, char **path, LoomRunJson *value,
                    GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autofree char *text = NULL;
  gsize length;

  *path = loom_folder_path_of (folder, name);
  if (!loom_folder_read (folder, name, MAX_BYTES, &text, &length, error))
    return FALSE;
  if (!loom_json_is_within (text, length, LOOM_JSON_LEVELS))
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%s is damaged: it is nested too deeply, or has half of a surrogate pair.", *path);
  if (!json_parser_load_from_data (parser, text, (gssize)length, &local))
    return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged, %s", *path,
                        local->message + (g_str_has_prefix (local->message, PLACE) ? strlen (PLACE) : 0));
  JsonNode *root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: it is not an object.", *path);
  *value = (LoomRunJson){ *path, json_node_get_object (root) };
  return TRUE;
}
