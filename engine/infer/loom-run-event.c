/* Reads lines of events.jsonl leniently. json-glib returns NULL or 0 for a member of another kind, not the default. */
#include "engine/infer/loom-run-event.h"

#include "engine/core/loom-json.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* The number after a key; NaN: none. */
static double
number_after (const char *line, const char *end, const char *key)
{
  const gsize n = strlen (key);
  const char *at = memmem (line, (gsize)(end - line), key, n);
  char *stop;
  double value;

  if (at == NULL || at + n >= end)
    return NAN;
  value = g_ascii_strtod (at + n, &stop);
  return stop > at + n && stop <= end && isfinite (value) ? value : NAN;
}

/* 0: it is none. */
static gint64
count_after (const char *line, const char *end, const char *key)
{
  const double value = number_after (line, end, key);

  return value > 0 && value < 9e15 ? (gint64)value : 0;
}

gboolean
loom_run_event_is (const char *line, const char *end, const char *name)
{
  static const char beginning[] = "{\"event\":\"";
  const gsize n = strlen (beginning), length = strlen (name);

  return (gsize)(end - line) > n + length + 1 && memcmp (line, beginning, n) == 0
         && memcmp (line + n, name, length) == 0 && memcmp (line + n + length, "\",", 2) == 0;
}

gboolean
loom_run_event_step (const char *line, const char *end, LoomRunStep *step)
{
  if (!loom_run_event_is (line, end, "step"))
    return FALSE;
  step->step = count_after (line, end, "\"step\":");
  step->epoch = count_after (line, end, "\"epoch\":");
  step->loss = number_after (line, end, "\"loss\":");
  step->lr = number_after (line, end, "\"lr\":");
  return step->step > 0;
}

JsonObject *
loom_run_event_parse (JsonParser *parser, const char *line, gsize length)
{
  if (!loom_json_is_within (line, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, line, (gssize)length, NULL) || json_parser_get_root (parser) == NULL
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

GPtrArray *
loom_run_event_metrics (JsonObject *event, GArray **values)
{
  JsonNode *node = json_object_get_member (event, "metrics");
  JsonObject *metrics = node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  GPtrArray *names = g_ptr_array_new ();
  JsonObjectIter iter;
  const char *name;

  *values = g_array_new (FALSE, FALSE, sizeof (double));
  if (metrics != NULL)
    json_object_iter_init (&iter, metrics);
  while (metrics != NULL && json_object_iter_next (&iter, &name, NULL))
    {
      const double value = loom_run_event_number (metrics, name);

      if (isnan (value))
        continue;
      g_ptr_array_add (names, (gpointer)name);
      g_array_append_val (*values, value);
    }
  g_ptr_array_add (names, NULL);
  return names;
}
