#include "engine/runs/loom-proposal.h"

#include "engine/core/loom-file.h"
#include "engine/core/loom-folder.h"
#include "engine/core/loom-json.h"
#include "engine/core/loom-os.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define BEGINNING  "{\"format\":\"gradloom proposal\",\"version\":1,"
#define MOST_BYTES 130000000 /* a graph of 64 MB, escaped */

void
loom_proposal_free (LoomProposal *self)
{
  if (self == NULL)
    return;
  g_free (self->title);
  g_free (self->reason);
  g_free (self->base);
  g_free (self->graph);
  g_free (self);
}

static char *
path_of (const char *graph)
{
  return g_strconcat (graph, LOOM_PROPOSAL_SUFFIX, NULL);
}

/* A member that is a text of at most `most` characters. */
static char *
dup_text (JsonObject *object, const char *name, glong most)
{
  JsonNode *node = json_object_get_member (object, name);
  const char *text = node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;

  return text != NULL && g_utf8_strlen (text, -1) <= most ? g_strdup (text) : NULL;
}

static LoomProposal *
parse (const char *text, gsize length)
{
  g_autoptr (LoomProposal) self = g_new0 (LoomProposal, 1);
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root;
  JsonObject *object;

  if (!g_str_has_prefix (text, BEGINNING) || !g_utf8_validate (text, (gssize)length, NULL)
      || !loom_json_is_within (text, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, text, (gssize)length, NULL))
    return NULL;
  root = json_parser_get_root (parser);
  object = root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  if (object == NULL)
    return NULL;
  self->title = dup_text (object, "title", LOOM_PROPOSAL_MOST_TITLE);
  self->reason = dup_text (object, "reason", LOOM_PROPOSAL_MOST_REASON);
  self->base = dup_text (object, "base", 64);
  self->graph = dup_text (object, "graph", MOST_BYTES);
  if (self->title == NULL || *self->title == '\0' || strpbrk (self->title, "\r\n") != NULL || self->reason == NULL
      || self->base == NULL || self->graph == NULL)
    return NULL;
  return g_steal_pointer (&self);
}

LoomProposal *
loom_proposal_read (const char *graph, GError **error)
{
  g_autofree char *path = path_of (graph), *text = NULL;
  g_autoptr (GError) local = NULL;
  LoomProposal *self;
  gsize length;

  if (!loom_path_is_file (path))
    return NULL;
  if (!loom_file_read (path, BEGINNING, MOST_BYTES, &text, &length, &local))
    {
      g_set_error (error, LOOM_ERROR, loom_file_error_code (local), "“%s” cannot be read: %s.", path, local->message);
      return NULL;
    }
  self = length <= MOST_BYTES ? parse (text, length) : NULL;
  if (self == NULL)
    loom_file_refuse (path, error, "is not a proposal for a graph");
  return self;
}

static gboolean
check_length (const char *name, const char *text, glong most, GError **error)
{
  if (g_utf8_strlen (text, -1) <= most)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The %s of a proposal has at most %ld characters.", name, most);
  return FALSE;
}

gboolean
loom_proposal_write (const LoomProposal *self, const char *graph, GError **error)
{
  g_autofree char *path = path_of (graph), *folder = g_path_get_dirname (path), *name = g_path_get_basename (path);
  g_autoptr (LoomFolder) files = NULL;
  g_autoptr (LoomJson) json = loom_json_new ();

  if (!check_length ("title", self->title, LOOM_PROPOSAL_MOST_TITLE, error)
      || !check_length ("reason", self->reason, LOOM_PROPOSAL_MOST_REASON, error))
    return FALSE;
  if (*self->title == '\0' || strpbrk (self->title, "\r\n") != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "The title of a proposal is one line.");
      return FALSE;
    }
  loom_json_begin_object (json, NULL);
  loom_json_string (json, "format", "gradloom proposal");
  loom_json_int (json, "version", 1);
  loom_json_string (json, "title", self->title);
  loom_json_string (json, "reason", self->reason);
  loom_json_string (json, "base", self->base);
  loom_json_string (json, "graph", self->graph);
  loom_json_end_object (json);
  /* A link of this name is replaced, not followed to another file. */
  files = loom_folder_open (folder, error);
  return files != NULL
         && loom_folder_replace (files, name, loom_json_text (json), strlen (loom_json_text (json)), error);
}

void
loom_proposal_remove (const char *graph)
{
  g_autofree char *path = path_of (graph);

  loom_path_remove (path);
}
