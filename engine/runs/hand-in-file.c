/* Reads and writes the file of a hand-in. Every member is checked before anything is made of it, because the file is a
 * stranger's. */
#include "engine/runs/hand-in-private.h"

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-file.h"
#include "engine/core/loom-json.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-json.h"

#include <string.h>

#define BEGINNING   "{\"format\":\"gradloom hand-in\",\"version\":1,"
#define CHECKSUM    ",\"checksum\":\""
#define N_DIGITS    64       /* of SHA-256 */
#define MOST_BYTES  64000000 /* of a file */
#define MOST_WORDS  1000     /* characters of program, device and machine */
#define MOST_EVENTS 1000     /* sessions */
#define MOST_STEP   ((gint64)1 << 52)
#define MOST_TIME   1e11 /* seconds since 1970 */

static const char *const ends[] = { [LOOM_RUN_END_NONE] = "killed",
                                    [LOOM_RUN_END_STOPPED] = "stopped",
                                    [LOOM_RUN_END_DONE] = "done",
                                    [LOOM_RUN_END_FAILED] = "failed" };

/* ---- writing ------------------------------------------------------------- */

static void
add_run (LoomJson *json, const LoomHandIn *self)
{
  loom_json_begin_object (json, "run");
  loom_json_string (json, "device", self->device);
  loom_json_int (json, "threads", self->threads);
  loom_json_string (json, "machine", self->machine);
  loom_json_int (json, "step", self->step);
  loom_json_bool (json, "over", self->is_over);
  loom_json_string (json, "weights", self->weights);
  loom_json_begin_array (json, "sessions");
  for (guint i = 0; i < self->sessions->len; i++)
    {
      const LoomRunSession *session = &g_array_index (self->sessions, LoomRunSession, i);

      loom_json_begin_object (json, NULL);
      loom_json_fixed (json, "begun", session->begun, 3);
      loom_json_fixed (json, "ended", session->ended, 3);
      loom_json_int (json, "step", session->step);
      loom_json_string (json, "end", ends[session->end]);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
  loom_json_string (json, "costs", self->costs);
  loom_json_string (json, "log", self->log);
  loom_json_end_object (json);
}

char *
loom_hand_in_to_text (const LoomHandIn *self)
{
  g_autoptr (LoomJson) json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "format", "gradloom hand-in");
  loom_json_int (json, "version", 1);
  loom_json_string (json, "name", self->name);
  loom_json_fixed (json, "made", self->made, 3);
  loom_json_string (json, "program", self->program);
  loom_json_begin_array (json, "answers");
  for (guint i = 0; i < self->answers->len; i++)
    {
      const LoomHandInAnswer *answer = self->answers->pdata[i];

      loom_json_begin_object (json, NULL);
      loom_json_int (json, "page", answer->page);
      loom_json_string (json, "title", answer->title);
      loom_json_string (json, "text", answer->text);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
  loom_json_string (json, "graph", self->graph);
  if (self->has_run)
    add_run (json, self);
  g_autofree char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, loom_json_text (json), -1);

  loom_json_string (json, "checksum", sum);
  loom_json_end_object (json);
  return g_strconcat (loom_json_text (json), "\n", NULL);
}

gboolean
loom_hand_in_write (const LoomHandIn *self, const char *path, GError **error)
{
  g_autofree char *text = loom_hand_in_to_text (self);

  return loom_file_replace (path, text, strlen (text), error);
}

/* ---- reading ------------------------------------------------------------- */

/* most: characters, -1: any number. (transfer full) */
static gboolean
read_text (const LoomRunJson *json, const char *name, glong most, char **to, GError **error)
{
  const char *text;

  if (!loom_run_json_string (json, name, &text, error))
    return FALSE;
  if (most >= 0 && g_utf8_strlen (text, -1) > most)
    return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: its “%s” is longer than %ld characters.", json->path,
                        name, most);
  *to = g_strdup (text);
  return TRUE;
}

static gboolean
read_time (const LoomRunJson *json, const char *name, double *to, GError **error)
{
  if (!loom_run_json_double (json, name, FALSE, to, error))
    return FALSE;
  return (*to >= 0 && *to <= MOST_TIME)
         || loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: its “%s” is not a time.", json->path, name);
}

/* Entry i of a list, which must be an object. */
static gboolean
read_entry (const LoomRunJson *json, const char *name, JsonArray *list, guint i, LoomRunJson *entry, GError **error)
{
  JsonNode *node = json_array_get_element (list, i);

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: entry %u of its “%s” is not an object.", json->path,
                        i + 1, name);
  *entry = (LoomRunJson){ json->path, json_node_get_object (node) };
  return TRUE;
}

static JsonArray *
read_list (const LoomRunJson *json, const char *name, guint most, GError **error)
{
  JsonNode *node = json_object_get_member (json->object, name);

  if (node != NULL && JSON_NODE_HOLDS_ARRAY (node) && json_array_get_length (json_node_get_array (node)) <= most)
    return json_node_get_array (node);
  return loom_refuse_null (error, LOOM_ERROR_DATA, "%s is damaged: its “%s” is not a list of at most %u entries.",
                           json->path, name, most);
}

static gboolean
read_answers (LoomHandIn *self, const LoomRunJson *json, GError **error)
{
  JsonArray *list = read_list (json, "answers", LOOM_HAND_IN_MOST_ANSWERS, error);

  for (guint i = 0; list != NULL && i < json_array_get_length (list); i++)
    {
      g_autofree char *title = NULL, *text = NULL;
      LoomRunJson entry;
      gint64 page;

      if (!read_entry (json, "answers", list, i, &entry, error)
          || !loom_run_json_int (&entry, "page", 1, G_MAXINT, &page, error)
          || !read_text (&entry, "title", LOOM_HAND_IN_MOST_NAME, &title, error)
          || !read_text (&entry, "text", LOOM_HAND_IN_MOST_ANSWER, &text, error))
        return FALSE;
      loom_hand_in_add_answer (self, page, title, text);
    }
  return list != NULL;
}

static gboolean
read_end (const LoomRunJson *json, LoomRunEnd *end, GError **error)
{
  const char *text;

  if (!loom_run_json_string (json, "end", &text, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    if (g_str_equal (text, ends[i]))
      {
        *end = (LoomRunEnd)i;
        return TRUE;
      }
  return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: the “end” of a session is not known.", json->path);
}

static gboolean
read_sessions (LoomHandIn *self, const LoomRunJson *json, GError **error)
{
  JsonArray *list = read_list (json, "sessions", MOST_EVENTS, error);

  for (guint i = 0; list != NULL && i < json_array_get_length (list); i++)
    {
      LoomRunSession session = { 0 };
      LoomRunJson entry;

      if (!read_entry (json, "sessions", list, i, &entry, error) || !read_time (&entry, "begun", &session.begun, error)
          || !read_time (&entry, "ended", &session.ended, error)
          || !loom_run_json_int (&entry, "step", 0, MOST_STEP, &session.step, error)
          || !read_end (&entry, &session.end, error))
        return FALSE;
      g_array_append_val (self->sessions, session);
    }
  return list != NULL;
}

static gboolean
read_over (LoomHandIn *self, const LoomRunJson *json, GError **error)
{
  JsonNode *node = json_object_get_member (json->object, "over");

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return loom_refuse (error, LOOM_ERROR_DATA, "%s is damaged: its “over” is not true or false.", json->path);
  self->is_over = json_node_get_boolean (node);
  return TRUE;
}

static gboolean
read_run (LoomHandIn *self, const LoomRunJson *json, GError **error)
{
  LoomRunJson run;

  if (!json_object_has_member (json->object, "run"))
    return TRUE;
  self->has_run = TRUE;
  return loom_run_json_object (json, "run", &run, error) && read_text (&run, "device", MOST_WORDS, &self->device, error)
         && loom_run_json_int (&run, "threads", 0, LOOM_HAND_IN_MOST_THREADS, &self->threads, error)
         && read_text (&run, "machine", MOST_WORDS, &self->machine, error)
         && loom_run_json_int (&run, "step", 0, MOST_STEP, &self->step, error) && read_over (self, &run, error)
         && read_text (&run, "weights", N_DIGITS, &self->weights, error) && read_sessions (self, &run, error)
         && read_text (&run, "costs", -1, &self->costs, error) && read_text (&run, "log", -1, &self->log, error);
}

/* The checksum is the last member and covers every byte before it. */
static gboolean
is_intact (const char *text, gsize length)
{
  const gsize tail = strlen (CHECKSUM) + N_DIGITS + strlen ("\"}\n");
  const char *at = text + length - tail;
  g_autofree char *sum = NULL;

  if (length < tail || memcmp (at, CHECKSUM, strlen (CHECKSUM)) != 0)
    return FALSE;
  sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)text, length - tail);
  return memcmp (at + strlen (CHECKSUM), sum, N_DIGITS) == 0;
}

static JsonParser *
parse (const char *path, const char *text, gsize length, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) local = NULL;

  if (length > MOST_BYTES)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "%s is larger than %d MB, so it is not a hand-in.", path,
                             MOST_BYTES / 1000000);
  if (!g_str_has_prefix (text, BEGINNING))
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             g_str_has_prefix (text, "{\"format\":\"gradloom hand-in\",")
                                 ? "%s is a hand-in of another version of Gradloom."
                                 : "%s is not a hand-in.",
                             path);
  if (!g_utf8_validate (text, (gssize)length, NULL) || !loom_json_is_within (text, length, LOOM_JSON_LEVELS))
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "%s is damaged: it is not UTF-8, is nested too deeply, or has half of a surrogate pair.",
                             path);
  if (!json_parser_load_from_data (parser, text, (gssize)length, &local))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "%s is damaged: %s", path, local->message);
  return g_steal_pointer (&parser);
}

LoomHandIn *
loom_hand_in_read (const char *path, GError **error)
{
  g_autoptr (LoomHandIn) self = g_new0 (LoomHandIn, 1);
  g_autoptr (JsonParser) parser = NULL;
  g_autoptr (GError) local = NULL;
  g_autofree char *text = NULL;
  LoomRunJson json = { path, NULL };
  gsize length;

  if (!loom_file_read (path, "{", MOST_BYTES, &text, &length, &local))
    return loom_refuse_null (error, LOOM_ERROR_IO, "%s cannot be read: %s.", path, local->message);
  parser = parse (path, text, length, error);
  if (parser == NULL)
    return NULL;
  self->answers = hand_in_answers_new ();
  self->sessions = g_array_new (FALSE, FALSE, sizeof (LoomRunSession));
  self->is_intact = is_intact (text, length);
  json.object = json_node_get_object (json_parser_get_root (parser));
  return read_text (&json, "name", LOOM_HAND_IN_MOST_NAME, &self->name, error)
                 && read_time (&json, "made", &self->made, error)
                 && read_text (&json, "program", MOST_WORDS, &self->program, error) && read_answers (self, &json, error)
                 && read_text (&json, "graph", -1, &self->graph, error) && read_run (self, &json, error)
             ? g_steal_pointer (&self)
             : NULL;
}
