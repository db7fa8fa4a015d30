/* Describes commands to another program; see the header. */
#include "app/shared/description.h"

#include <json-glib/json-glib.h>
#include <string.h>

static const struct
{
  const char *name;
  GOptionArg arg;
} kinds[] = {
  { "none", G_OPTION_ARG_NONE },
  { "string", G_OPTION_ARG_STRING },
  { "int", G_OPTION_ARG_INT },
  { "int64", G_OPTION_ARG_INT64 },
  { "double", G_OPTION_ARG_DOUBLE },
  { "filename", G_OPTION_ARG_FILENAME },
  { "strings", G_OPTION_ARG_STRING_ARRAY },
  { "filenames", G_OPTION_ARG_FILENAME_ARRAY },
};

/* ---- writing ------------------------------------------------------------------------- */

static const char *
kind_name (GOptionArg arg)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].arg == arg)
      return kinds[i].name;
  g_assert_not_reached ();
}

static void
add_options (const Command *command, const GOptionEntry *entries, gpointer json)
{
  for (; entries->long_name != NULL; entries++)
    {
      const char letter[2] = { entries->short_name, '\0' };

      loom_json_begin_object (json, NULL);
      loom_json_string (json, "name", entries->long_name);
      loom_json_string (json, "short", letter[0] != '\0' ? letter : NULL);
      loom_json_string (json, "kind", kind_name (entries->arg));
      loom_json_string (json, "help", entries->description);
      loom_json_string (json, "value", entries->arg_description);
      loom_json_end_object (json);
    }
}

void
description_print (const Command *const *commands, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      LoomJson *json;

      if (commands[i]->summary == NULL)
        continue;
      json = command_event_new ("command");
      loom_json_string (json, "name", commands[i]->name);
      loom_json_string (json, "arguments", commands[i]->arguments);
      loom_json_string (json, "summary", commands[i]->summary);
      loom_json_string (json, "details", commands[i]->details);
      loom_json_begin_array (json, "options");
      command_describe (commands[i], add_options, json);
      loom_json_end_array (json);
      command_event_print (json);
    }
}

/* ---- reading ------------------------------------------------------------------------- */

/* A member that is a text; NULL: it is null, missing, or not a text. */
static const char *
read_text (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? g_intern_string (json_node_get_string (node))
             : NULL;
}

static gboolean
read_option (JsonNode *node, GOptionEntry *entry)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *letter = object != NULL ? read_text (object, "short") : NULL;
  const char *kind = object != NULL ? read_text (object, "kind") : NULL;

  if (kind == NULL)
    return FALSE;
  entry->long_name = read_text (object, "name");
  entry->short_name = letter != NULL ? letter[0] : '\0';
  entry->description = read_text (object, "help");
  entry->arg_description = read_text (object, "value");
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].name, kind) == 0)
      {
        entry->arg = kinds[i].arg;
        return entry->long_name != NULL && entry->description != NULL;
      }
  return FALSE;
}

/* NULL: the line does not describe a command. */
static Command *
read_command (const char *line)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root, *list;
  JsonObject *object;
  JsonArray *array;

  if (!json_parser_load_from_data (parser, line, -1, NULL))
    return NULL;
  root = json_parser_get_root (parser);
  object = root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  list = object != NULL ? json_object_get_member (object, "options") : NULL;
  if (list == NULL || !JSON_NODE_HOLDS_ARRAY (list))
    return NULL;

  array = json_node_get_array (list);
  g_autofree GOptionEntry *entries = g_new0 (GOptionEntry, json_array_get_length (array) + 1);
  for (guint i = 0; i < json_array_get_length (array); i++)
    if (!read_option (json_array_get_element (array, i), entries + i))
      return NULL;
  g_autofree Command *command = g_new0 (Command, 1);
  command->name = read_text (object, "name");
  command->arguments = read_text (object, "arguments");
  command->summary = read_text (object, "summary");
  command->details = read_text (object, "details");
  if (command->name == NULL || command->arguments == NULL || command->summary == NULL)
    return NULL;
  command->options = g_steal_pointer (&entries);
  return g_steal_pointer (&command);
}

GPtrArray *
description_parse (const char *text, GError **error)
{
  g_autoptr (GPtrArray) commands = g_ptr_array_new ();
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      Command *command = lines[i][0] != '\0' ? read_command (lines[i]) : NULL;

      if (command == NULL && lines[i][0] != '\0')
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "Line %u does not describe a command.", i + 1);
          return NULL;
        }
      if (command != NULL)
        g_ptr_array_add (commands, command);
    }
  return g_steal_pointer (&commands);
}
