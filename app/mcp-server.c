/* Messages of `gradloom mcp`: JSON-RPC, a request a line.
 *
 * Requests of the revision 2026-07-28 carry their version, and there is no state between them but the runs of the tool
 * train; clients of earlier revisions begin with `initialize`. Messages are a stranger's: their length, nesting and
 * types are checked, and a wrong one is answered by an error. */
#include "app/mcp.h"

#include <string.h>

#define MOST_LEVELS 32

static const char *const modern[] = { "2026-07-28", NULL };
static const char *const legacy[] = { "2025-11-25", "2025-06-18", NULL };

#define META "io.modelcontextprotocol/"

enum
{
  PARSE_ERROR = -32700,
  INVALID_REQUEST = -32600,
  METHOD_NOT_FOUND = -32601,
  INVALID_PARAMS = -32602,
  UNSUPPORTED_VERSION = -32022
};

typedef struct
{
  McpServer *server;
  JsonObject *params; /* NULL: none */
  char *id;           /* as JSON */
  gboolean is_modern;
} Request;

/* ---- answers ----------------------------------------------------------- */

static LoomJson *
begin_answer (const char *id, const char *member)
{
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "jsonrpc", "2.0");
  loom_json_begin_object (json, member);
  return json;
}

/* The id is text as it came, a string or an integer, so that it is the same. */
static void
print_answer (FILE *out, LoomJson *json, const char *id)
{
  loom_json_end_object (json);
  fprintf (out, "%s,\"id\":%s}\n", loom_json_text (json), id);
  loom_json_free (json);
}

static LoomJson *
begin_error (const char *id, int code, const char *sentence)
{
  LoomJson *json = begin_answer (id, "error");

  loom_json_int (json, "code", code);
  loom_json_string (json, "message", sentence);
  return json;
}

static void
answer_error (FILE *out, const char *id, int code, const char *sentence)
{
  print_answer (out, begin_error (id, code, sentence), id);
}

static void
add_server (LoomJson *json, const char *member)
{
  loom_json_begin_object (json, member);
  loom_json_string (json, "name", "gradloom");
  loom_json_string (json, "version", LOOM_VERSION);
  loom_json_end_object (json);
}

static LoomJson *
begin_result (const Request *request)
{
  LoomJson *json = begin_answer (request->id, "result");

  if (request->is_modern)
    {
      loom_json_string (json, "resultType", "complete");
      loom_json_begin_object (json, "_meta");
      add_server (json, META "serverInfo");
      loom_json_end_object (json);
    }
  return json;
}

static void
add_cache (LoomJson *json, const Request *request)
{
  if (!request->is_modern)
    return;
  loom_json_int (json, "ttlMs", 3600000);
  loom_json_string (json, "cacheScope", "public");
}

/* ---- methods ----------------------------------------------------------- */

static void
add_introduction (LoomJson *json)
{
  loom_json_begin_object (json, "capabilities");
  loom_json_begin_object (json, "tools");
  loom_json_end_object (json);
  loom_json_end_object (json);
  loom_json_string (json, "instructions",
                    "Gradloom trains neural networks that are drawn as graphs and stored as XML. Read a graph with the "
                    "tool read, try changes as “xml” with check, plan and train, and propose the result: the user "
                    "decides in Studio. No tool changes a file of the user.");
}

static void
discover (const Request *request)
{
  LoomJson *json = begin_result (request);

  loom_json_begin_array (json, "supportedVersions");
  for (guint i = 0; modern[i] != NULL; i++)
    loom_json_string (json, NULL, modern[i]);
  loom_json_end_array (json);
  add_introduction (json);
  add_cache (json, request);
  print_answer (request->server->out, json, request->id);
}

static void
initialize (const Request *request)
{
  JsonNode *node = request->params != NULL ? json_object_get_member (request->params, "protocolVersion") : NULL;
  const char *wanted = node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
  LoomJson *json = begin_result (request);

  loom_json_string (json, "protocolVersion", wanted != NULL && g_strv_contains (legacy, wanted) ? wanted : legacy[0]);
  add_introduction (json);
  add_server (json, "serverInfo");
  print_answer (request->server->out, json, request->id);
  request->server->is_initialized = TRUE;
}

static void
ping (const Request *request)
{
  print_answer (request->server->out, begin_result (request), request->id);
}

static void
list (const Request *request)
{
  LoomJson *json = begin_result (request);

  mcp_tools_describe (json);
  add_cache (json, request);
  print_answer (request->server->out, json, request->id);
}

static void
print_called (const Request *request, const McpAnswer *answer)
{
  LoomJson *json = begin_result (request);

  loom_json_begin_array (json, "content");
  loom_json_begin_object (json, NULL);
  loom_json_string (json, "type", "text");
  loom_json_string (json, "text", answer->text->str);
  loom_json_end_object (json);
  loom_json_end_array (json);
  if (answer->status >= 0)
    {
      loom_json_begin_object (json, "structuredContent");
      loom_json_int (json, "status", answer->status);
      if (answer->run != NULL)
        loom_json_string (json, "run", answer->run);
      loom_json_end_object (json);
    }
  loom_json_bool (json, "isError", answer->is_error);
  print_answer (request->server->out, json, request->id);
}

static void
call (const Request *request)
{
  JsonNode *name = request->params != NULL ? json_object_get_member (request->params, "name") : NULL;
  JsonNode *arguments = request->params != NULL ? json_object_get_member (request->params, "arguments") : NULL;
  const char *text = name != NULL && JSON_NODE_HOLDS_VALUE (name) ? json_node_get_string (name) : NULL;
  const McpTool *tool = text != NULL ? mcp_tool_find (text) : NULL;
  g_autoptr (GString) words = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  McpAnswer answer = { .text = words };

  if (tool == NULL)
    answer_error (request->server->out, request->id, INVALID_PARAMS, "There is no such tool.");
  else if (arguments != NULL && !JSON_NODE_HOLDS_OBJECT (arguments))
    answer_error (request->server->out, request->id, INVALID_PARAMS, "“arguments” must be an object.");
  else if (!mcp_call (request->server->tools, tool, arguments != NULL ? json_node_get_object (arguments) : NULL,
                      &answer, &error))
    answer_error (request->server->out, request->id, INVALID_PARAMS, error->message);
  else
    print_called (request, &answer);
}

static const struct
{
  const char *name;
  void (*run) (const Request *request);
  gboolean is_modern, is_legacy;
} methods[] = {
  { "server/discover", discover, TRUE, FALSE },
  { "initialize", initialize, FALSE, TRUE },
  { "ping", ping, FALSE, TRUE },
  { "tools/list", list, TRUE, TRUE },
  { "tools/call", call, TRUE, TRUE },
};

/* ---- messages ---------------------------------------------------------- */

/* The version that a request states; NULL: none, as in earlier revisions. */
static const char *
version_of (JsonObject *params)
{
  JsonNode *meta = params != NULL ? json_object_get_member (params, "_meta") : NULL;
  JsonNode *node = meta != NULL && JSON_NODE_HOLDS_OBJECT (meta)
                       ? json_object_get_member (json_node_get_object (meta), META "protocolVersion")
                       : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
}

static void
answer_version (FILE *out, const char *id, const char *wanted)
{
  LoomJson *json = begin_error (id, UNSUPPORTED_VERSION, "This revision of the protocol is not supported.");

  loom_json_begin_object (json, "data");
  loom_json_begin_array (json, "supported");
  for (guint i = 0; modern[i] != NULL; i++)
    loom_json_string (json, NULL, modern[i]);
  loom_json_end_array (json);
  loom_json_string (json, "requested", wanted);
  loom_json_end_object (json);
  print_answer (out, json, id);
}

static void
dispatch (Request *request, const char *method)
{
  const char *version = version_of (request->params);

  request->is_modern = version != NULL;
  if (version != NULL && !g_strv_contains (modern, version))
    {
      answer_version (request->server->out, request->id, version);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    if (strcmp (method, methods[i].name) == 0 && (request->is_modern ? methods[i].is_modern : methods[i].is_legacy))
      {
        if (!request->is_modern && methods[i].is_modern && !request->server->is_initialized)
          answer_error (request->server->out, request->id, INVALID_PARAMS,
                        "_meta must state the version of the protocol.");
        else
          methods[i].run (request);
        return;
      }
  answer_error (request->server->out, request->id, METHOD_NOT_FOUND, "There is no such method.");
}

/* The id as JSON; NULL: it is no text and no integer. */
static char *
id_of (JsonNode *node)
{
  const GType type = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_NONE;

  return type == G_TYPE_STRING || type == G_TYPE_INT64 ? json_to_string (node, FALSE) : NULL;
}

static JsonNode *
parse (const char *line, gsize length, JsonParser *parser)
{
  if (!g_utf8_validate (line, (gssize)length, NULL) || !loom_json_is_within (line, length, MOST_LEVELS)
      || !json_parser_load_from_data (parser, line, (gssize)length, NULL))
    return NULL;
  return json_parser_get_root (parser);
}

void
mcp_server_read (McpServer *server, const char *line, gsize length)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root = parse (line, length, parser), *method, *params, *id;
  JsonObject *object;
  g_autofree char *name = NULL;

  if (root == NULL)
    {
      answer_error (server->out, "null", PARSE_ERROR, "The message is not JSON.");
      return;
    }
  object = JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  method = object != NULL ? json_object_get_member (object, "method") : NULL;
  params = object != NULL ? json_object_get_member (object, "params") : NULL;
  id = object != NULL ? json_object_get_member (object, "id") : NULL;
  name = id != NULL ? id_of (id) : NULL;
  if (method == NULL || !JSON_NODE_HOLDS_VALUE (method) || json_node_get_string (method) == NULL
      || (id != NULL && name == NULL) || (params != NULL && !JSON_NODE_HOLDS_OBJECT (params)))
    {
      answer_error (server->out, name != NULL ? name : "null", INVALID_REQUEST, "The message is not a request.");
      return;
    }
  /* Notifications have no answer, and none changes anything here: a call is over before the next message is read. */
  if (id == NULL)
    return;
  Request request = { .server = server, .params = params != NULL ? json_node_get_object (params) : NULL, .id = name };
  dispatch (&request, json_node_get_string (method));
}
