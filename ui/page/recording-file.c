/* Reads and writes recordings. Unknown kinds of events are kept, and do nothing when they are played. */
#include "ui/page/recording-file.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"

#define VERSION      1
#define MOST_BYTES   (64 << 20)
#define MOST_EVENTS  200000
#define MOST_SECONDS (24 * 3600)

static void
event_clear (gpointer event)
{
  json_node_unref (((RecordingEvent *)event)->value);
}

void
recording_free (Recording *recording)
{
  g_free (recording->title);
  g_free (recording->graph);
  g_array_unref (recording->events);
  g_free (recording);
}

gboolean
recording_fits (gsize bytes, guint n_events, double seconds, GError **error)
{
  if (bytes <= MOST_BYTES && n_events <= MOST_EVENTS && seconds <= MOST_SECONDS)
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       _ ("A recording has at most 64 MB, 200,000 events and 24 hours."));
  return FALSE;
}

double
recording_get_length (const Recording *recording)
{
  const guint n = recording->events->len;

  return n > 0 ? g_array_index (recording->events, RecordingEvent, n - 1).at : 0;
}

/* ---- reading ---------------------------------------------------------------- */

const char *
recording_get_text (JsonObject *object, const char *member)
{
  JsonNode *node = json_object_get_member (object, member);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

double
recording_get_number (JsonObject *object, const char *member)
{
  JsonNode *node = json_object_get_member (object, member);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) != G_TYPE_STRING
             ? json_node_get_double (node)
             : NAN;
}

static gboolean
read_head (Recording *recording, JsonObject *line)
{
  const char *graph = recording_get_text (line, "graph"), *title = recording_get_text (line, "title");

  if (recording_get_number (line, "recording") != VERSION || graph == NULL)
    return FALSE;
  recording->graph = g_strdup (graph);
  recording->title = g_strdup (title != NULL ? title : "");
  return TRUE;
}

static gboolean
read_event (Recording *recording, JsonObject *line)
{
  RecordingEvent event = { recording_get_number (line, "at"), NULL, NULL };
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  json_object_iter_init_ordered (&iter, line);
  while (json_object_iter_next_ordered (&iter, &name, &value))
    if (event.kind == NULL && !g_str_equal (name, "at"))
      {
        event.kind = g_intern_string (name);
        event.value = value;
      }
  if (event.kind == NULL || !(event.at >= recording_get_length (recording)) || event.at > MOST_SECONDS)
    return FALSE;
  event.value = json_node_ref (event.value);
  g_array_append_val (recording->events, event);
  return TRUE;
}

Recording *
recording_read (const char *path, GError **error)
{
  g_autoptr (Recording) recording = g_new0 (Recording, 1);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  gsize length;
  guint n_lines;

  recording->events = g_array_new (FALSE, FALSE, sizeof (RecordingEvent));
  g_array_set_clear_func (recording->events, event_clear);
  if (!loom_path_read (path, &text, &length, error))
    return NULL;
  /* The head, events, and what follows the last line that may be one: nothing. */
  if (length <= MOST_BYTES)
    lines = g_strsplit (text, "\n", MOST_EVENTS + 2);
  n_lines = lines != NULL ? g_strv_length (lines) : 0;
  if (!recording_fits (length, n_lines == MOST_EVENTS + 2 && *lines[n_lines - 1] != '\0' ? n_lines - 1 : 0, 0, error))
    return NULL;
  for (guint i = 0; i == 0 || (lines[i] != NULL && (lines[i][0] != '\0' || lines[i + 1] != NULL)); i++)
    {
      const char *line = n_lines > 0 ? lines[i] : "";
      const gboolean whole = loom_json_is_within (line, strlen (line), LOOM_JSON_LEVELS)
                             && json_parser_load_from_data (parser, line, -1, NULL);
      JsonNode *root = whole ? json_parser_get_root (parser) : NULL;

      /* The last line may have been cut off. */
      if (!whole && i > 0 && lines[i + 1] == NULL)
        break;
      if (root != NULL && JSON_NODE_HOLDS_OBJECT (root)
          && (i == 0 ? read_head : read_event) (recording, json_node_get_object (root)))
        continue;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE,
                   i == 0 ? _ ("Line %u: not a recording of version 1.") : _ ("Line %u: not an event."), i + 1);
      return NULL;
    }
  return g_steal_pointer (&recording);
}

/* ---- writing ---------------------------------------------------------------- */

static char *
line_of (JsonObject *object)
{
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_OBJECT);
  g_autofree char *text = NULL;

  json_node_take_object (node, object);
  text = json_to_string (node, FALSE);
  return g_strconcat (text, "\n", NULL);
}

char *
recording_head_line (const char *title, const char *graph)
{
  JsonObject *head = json_object_new ();

  json_object_set_int_member (head, "recording", VERSION);
  json_object_set_string_member (head, "title", title);
  json_object_set_string_member (head, "graph", graph);
  return line_of (head);
}

char *
recording_event_line (double at, const char *kind, JsonNode *value)
{
  JsonObject *event = json_object_new ();

  json_object_set_double_member (event, "at", round (at * 1000) / 1000);
  json_object_set_member (event, kind, value);
  return line_of (event);
}
