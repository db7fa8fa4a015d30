/* Reads and writes notes.json. */
#include "engine/runs/loom-run-notes.h"

#include "engine/infer/loom-run-json.h"

#include <string.h>

#define VERSION 1

void
loom_run_notes_clear (LoomRunNotes *notes)
{
  g_clear_pointer (&notes->name, g_free);
  g_clear_pointer (&notes->note, g_free);
  g_clear_pointer (&notes->sweep, g_free);
  notes->star = FALSE;
}

static gboolean
is_there (LoomFolder *run)
{
  struct stat info;

  return loom_folder_stat (run, LOOM_RUN_NOTES, &info);
}

/* The text of a member; an absent member is NULL. */
static gboolean
read_text (const LoomRunJson *json, const char *name, glong most, char **text, GError **error)
{
  const char *value;

  if (!json_object_has_member (json->object, name) || json_object_get_null_member (json->object, name))
    return TRUE;
  if (!loom_run_json_string (json, name, &value, error))
    return FALSE;
  if (*value != '\0')
    *text = g_utf8_substring (value, 0, MIN (most, g_utf8_strlen (value, -1)));
  return TRUE;
}

gboolean
loom_run_notes_read (LoomFolder *run, LoomRunNotes *notes, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *path = NULL;
  g_auto (LoomRunNotes) read = { NULL };
  LoomRunJson json;
  JsonNode *star;

  *notes = read;
  if (!is_there (run))
    return TRUE;
  if (!loom_run_json_root (parser, run, LOOM_RUN_NOTES, &path, &json, error)
      || !read_text (&json, "name", LOOM_RUN_NAME_MOST, &read.name, error)
      || !read_text (&json, "note", LOOM_RUN_NOTE_MOST, &read.note, error)
      || !read_text (&json, "sweep", LOOM_RUN_NAME_MOST, &read.sweep, error))
    return FALSE;
  star = json_object_get_member (json.object, "star");
  read.star = star != NULL && JSON_NODE_HOLDS_VALUE (star) && json_node_get_boolean (star);
  *notes = read;
  read = (LoomRunNotes){ NULL };
  return TRUE;
}

static void
set_text (JsonObject *object, const char *name, const char *text, glong most)
{
  g_autofree char *trimmed = text != NULL ? g_strstrip (g_strdup (text)) : NULL, *valid = NULL, *cut = NULL;

  if (trimmed == NULL || *trimmed == '\0')
    {
      json_object_remove_member (object, name);
      return;
    }
  valid = g_utf8_make_valid (trimmed, -1);
  cut = g_utf8_substring (valid, 0, MIN (most, g_utf8_strlen (valid, -1)));
  json_object_set_string_member (object, name, cut);
}

/* The object of the present file, or an empty one. (transfer full) */
static JsonObject *
present_object (LoomFolder *run)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *path = NULL;
  LoomRunJson json;

  if (is_there (run) && loom_run_json_root (parser, run, LOOM_RUN_NOTES, &path, &json, NULL))
    return json_object_ref (json.object);
  return json_object_new ();
}

gboolean
loom_run_notes_write (const char *run, const LoomRunNotes *notes, GError **error)
{
  g_autoptr (LoomFolder) files = loom_folder_open (run, error);

  if (files == NULL)
    return FALSE;
  g_autoptr (JsonObject) object = present_object (files);
  g_autoptr (JsonNode) root = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = NULL;

  json_object_set_int_member (object, "version", VERSION);
  set_text (object, "name", notes->name, LOOM_RUN_NAME_MOST);
  set_text (object, "note", notes->note, LOOM_RUN_NOTE_MOST);
  set_text (object, "sweep", notes->sweep, LOOM_RUN_NAME_MOST);
  if (notes->star)
    json_object_set_boolean_member (object, "star", TRUE);
  else
    json_object_remove_member (object, "star");
  text = json_to_string (root, TRUE);
  return loom_folder_replace (files, LOOM_RUN_NOTES, text, strlen (text), error);
}
