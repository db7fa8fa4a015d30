/* The tools of `gradloom mcp`. Descriptions and types of options are those of the commands' own tables, so that they
 * cannot become outdated; the table here only says which of them an agent has. */
#include "app/mcp.h"

#include "app/commands.h"

#include <string.h>

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --set is missing: it could name other data after the graph was checked. */
static const McpTool tools[] = {
  { .name = "read",
    .doc = "Read the text of a graph file. `gradloom help format` and the tool ops describe its language.",
    .subject = MCP_GRAPH },
  { .name = "check", .command = "check", .subject = MCP_GRAPH, .options = OPTIONS ("gradcheck", "batch-size", "json") },
  { .name = "ops", .command = "ops", .subject = MCP_NAME, .options = OPTIONS ("json", "example") },
  { .name = "plan",
    .command = "plan",
    .subject = MCP_EITHER,
    .options = OPTIONS ("card", "batch-size", "eval", "ranks", "strategy", "precision", "tf32", "no-fusion", "passes",
                        "check", "parameters", "memory", "fits", "available", "stages", "steps", "json") },
  { .name = "program",
    .command = "program",
    .subject = MCP_EITHER,
    .options = OPTIONS ("batch-size", "eval", "ranks", "strategy", "precision", "json") },
  { .name = "simulate",
    .command = "simulate",
    .subject = MCP_GRAPH,
    .options = OPTIONS ("gpus", "card", "link", "per-machine", "strategy", "pipeline", "tensor", "microbatches",
                        "schedule", "no-overlap", "batch-size", "precision", "tf32", "json"),
    .fixed = OPTIONS ("--no-measure") },
  { .name = "train",
    .command = "train",
    .doc = "Train a graph for some steps, in a folder of its own that is removed at the end of this session. The "
           "answer names the run, for the tools eval, plan and program.",
    .subject = MCP_GRAPH,
    .options = OPTIONS ("steps", "epochs", "batch-size", "lr", "precision", "seed", "health", "json"),
    .fixed = OPTIONS ("--history=0") },
  { .name = "eval",
    .command = "eval",
    .subject = MCP_RUN,
    .options = OPTIONS ("split", "batch-size", "confusion", "per-class", "calibration", "json") },
  { .name = "diff", .command = "diff", .subject = MCP_TWO, .options = OPTIONS ("all", "json") },
  { .name = "propose",
    .doc
    = "Propose a graph in place of the one in a file. The file is not changed: Studio shows the user how the graph "
      "would differ, and the user accepts or refuses. A later proposal for the same file replaces it.",
    .subject = MCP_PROPOSAL },
  { .name = "withdraw", .doc = "Withdraw the proposal for a file.", .subject = MCP_FILE },
};

const McpTool *
mcp_tool_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    if (strcmp (tools[i].name, name) == 0)
      return &tools[i];
  return NULL;
}

/* ---- options ----------------------------------------------------------- */

typedef struct
{
  const char *name;
  const GOptionEntry *found; /* a copy: a command's own entries end with its call */
} Search;

static void
search_cb (const Command *command, const GOptionEntry *entries, gpointer data)
{
  Search *search = data;

  for (; entries->long_name != NULL; entries++)
    if (strcmp (entries->long_name, search->name) == 0)
      {
        GOptionEntry *copy = g_new (GOptionEntry, 1);

        *copy = *entries;
        copy->long_name = g_intern_string (entries->long_name);
        copy->description = g_intern_string (entries->description);
        copy->arg_description = g_intern_string (entries->arg_description);
        search->found = copy;
      }
}

static const Command *
command_of (const McpTool *tool)
{
  guint n;
  const Command *const *table = commands_described (&n);

  return tool->command != NULL ? command_find (tool->command, table, n) : NULL;
}

const GOptionEntry *
mcp_tool_option (const McpTool *tool, const char *name)
{
  static GHashTable *known; /* "tool option" → GOptionEntry */
  g_autofree char *key = g_strdup_printf ("%s %s", tool->name, name);
  const Command *command = command_of (tool);
  Search search = { .name = name };

  if (tool->options == NULL || command == NULL || !g_strv_contains (tool->options, name))
    return NULL;
  if (known == NULL)
    known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (!g_hash_table_contains (known, key))
    {
      command_describe (command, search_cb, &search);
      if (search.found != NULL)
        g_hash_table_insert (known, g_steal_pointer (&key), (gpointer)search.found);
      return search.found;
    }
  return g_hash_table_lookup (known, key);
}

/* ---- schemas ----------------------------------------------------------- */

static void
add_property (LoomJson *json, const char *name, const char *type, const char *doc)
{
  loom_json_begin_object (json, name);
  loom_json_string (json, "type", type);
  if (strcmp (type, "array") == 0)
    {
      loom_json_begin_object (json, "items");
      loom_json_string (json, "type", "string");
      loom_json_end_object (json);
    }
  loom_json_string (json, "description", doc);
  loom_json_end_object (json);
}

static const char *
type_of (GOptionArg arg)
{
  switch (arg)
    {
    case G_OPTION_ARG_NONE:
      return "boolean";
    case G_OPTION_ARG_INT:
    case G_OPTION_ARG_INT64:
      return "integer";
    case G_OPTION_ARG_DOUBLE:
      return "number";
    case G_OPTION_ARG_STRING_ARRAY:
      return "array";
    default:
      return "string";
    }
}

static void
add_subject (LoomJson *json, McpSubject subject)
{
  static const char file[] = "The graph's file, relative to the server's folder",
                    text[] = "The graph's XML, instead of the file's; data are found next to the file",
                    run[] = "A run that the tool train has made";

  if (subject == MCP_NAME)
    add_property (json, "name", "string", "An operator or a module of the library; without it all are listed");
  if (subject == MCP_RUN || subject == MCP_EITHER)
    add_property (json, "run", "string", run);
  if (subject == MCP_NAME || subject == MCP_RUN)
    return;
  add_property (json, "graph", "string", file);
  if (subject == MCP_FILE)
    return;
  add_property (json, "xml", "string", subject == MCP_TWO || subject == MCP_PROPOSAL ? "The other graph's XML" : text);
  if (subject != MCP_PROPOSAL)
    return;
  add_property (json, "title", "string", "What it changes, in one line");
  add_property (json, "reason", "string", "Why, for the user");
}

static void
add_schema (LoomJson *json, const McpTool *tool)
{
  loom_json_begin_object (json, "inputSchema");
  loom_json_string (json, "type", "object");
  loom_json_begin_object (json, "properties");
  add_subject (json, tool->subject);
  for (guint i = 0; tool->options != NULL && tool->options[i] != NULL; i++)
    {
      const GOptionEntry *entry = mcp_tool_option (tool, tool->options[i]);

      if (entry != NULL)
        add_property (json, entry->long_name, type_of (entry->arg), entry->description);
    }
  loom_json_end_object (json);
  if (tool->subject == MCP_RUN || tool->subject == MCP_TWO || tool->subject >= MCP_PROPOSAL)
    {
      loom_json_begin_array (json, "required");
      loom_json_string (json, NULL, tool->subject == MCP_RUN ? "run" : "graph");
      if (tool->subject == MCP_TWO || tool->subject == MCP_PROPOSAL)
        loom_json_string (json, NULL, "xml");
      if (tool->subject == MCP_PROPOSAL)
        loom_json_string (json, NULL, "title");
      loom_json_end_array (json);
    }
  loom_json_bool (json, "additionalProperties", FALSE);
  loom_json_end_object (json);
}

void
mcp_tools_describe (LoomJson *json)
{
  loom_json_begin_array (json, "tools");
  for (guint i = 0; i < G_N_ELEMENTS (tools); i++)
    {
      const Command *command = command_of (&tools[i]);

      loom_json_begin_object (json, NULL);
      loom_json_string (json, "name", tools[i].name);
      loom_json_string (json, "description", tools[i].doc != NULL ? tools[i].doc : command->summary);
      add_schema (json, &tools[i]);
      loom_json_begin_object (json, "annotations");
      loom_json_bool (json, "readOnlyHint", tools[i].subject < MCP_PROPOSAL);
      loom_json_bool (json, "destructiveHint", FALSE);
      loom_json_bool (json, "openWorldHint", FALSE);
      loom_json_end_object (json);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}
