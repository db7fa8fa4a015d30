/* Members of the objects in a tokenizer.json. */
#pragma once

#include <json-glib/json-glib.h>

/* A text, or NULL if the member is absent or of another type. (transfer none) */
static inline const char *
token_json_string (JsonObject *o, const char *name)
{
  JsonNode *node = json_object_get_member (o, name);

  return node != NULL && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node) : NULL;
}

/* A truth value; `otherwise` if the member is absent or of another type. */
static inline gboolean
token_json_bool (JsonObject *o, const char *name, gboolean otherwise)
{
  JsonNode *node = json_object_get_member (o, name);

  return node != NULL && json_node_get_value_type (node) == G_TYPE_BOOLEAN ? json_node_get_boolean (node) : otherwise;
}
