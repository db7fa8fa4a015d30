/* Reads lines of events.jsonl leniently. json-glib returns NULL or 0 for a member of another kind, not the default. */
#include "engine/infer/loom-run-event.h"

#include "engine/core/loom-json.h"

#include <json-glib/json-glib.h>
#include <math.h>

JsonObject *
loom_run_event_parse (JsonParser *parser, const char *line, gsize length)
{
  if (!loom_json_is_within (line, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, line, (gssize)length, NULL)
      || !JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
    return NULL;
  return json_node_get_object (json_parser_get_root (parser));
}

/* The value of a member; G_TYPE_INVALID if it is absent, null, a list or an object. */
static GType
type_of (JsonObject *event, const char *name, JsonNode **node)
{
  *node = json_object_get_member (event, name);
  return *node != NULL && JSON_NODE_HOLDS_VALUE (*node) ? json_node_get_value_type (*node) : G_TYPE_INVALID;
}

const char *
loom_run_event_text (JsonObject *event, const char *name, const char *fallback)
{
  JsonNode *node;

  return type_of (event, name, &node) == G_TYPE_STRING ? json_node_get_string (node) : fallback;
}

gint64
loom_run_event_int (JsonObject *event, const char *name, gint64 fallback)
{
  JsonNode *node;

  return type_of (event, name, &node) == G_TYPE_INT64 ? json_node_get_int (node) : fallback;
}

double
loom_run_event_number (JsonObject *event, const char *name)
{
  JsonNode *node;
  const GType type = type_of (event, name, &node);
  const double value = type == G_TYPE_INT64 || type == G_TYPE_DOUBLE ? json_node_get_double (node) : NAN;

  return isfinite (value) ? value : NAN;
}
