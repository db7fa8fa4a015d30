/* The parts of `gradloom mcp`: tools, which are commands of the table with some of their options, and their calls.
 *
 * A tool reads graphs in one folder, writes to folders of its own under the system's folder of temporary files, and to
 * proposals, which the user accepts or refuses in Studio. Nothing that it does needs to be undone. */
#pragma once

#include <json-glib/json-glib.h>
#include <stdio.h>

#include "app/shared/command.h"

/* What a tool works on. */
typedef enum
{
  MCP_GRAPH,    /* a graph: a file, or a text in place of a file's */
  MCP_RUN,      /* a run of the tool train */
  MCP_EITHER,   /* one of the two */
  MCP_NAME,     /* the name of an operator, or nothing */
  MCP_TWO,      /* a file and a text */
  MCP_PROPOSAL, /* a file and a text, with a title */
  MCP_FILE      /* a file */
} McpSubject;

typedef struct
{
  const char *name;
  const char *command; /* NULL: no command, but a function of this server */
  const char *doc;     /* what it does here; NULL: the command's summary */
  McpSubject subject;
  const char *const *options; /* of the command; none of them names a file */
  const char *const *fixed;   /* words that are always passed; may be NULL */
} McpTool;

typedef struct _Mcp Mcp;

/* The answer to a call: a text for the model, and whether it is an error that the model may correct. */
typedef struct
{
  GString *text;
  gboolean is_error;
  int status;      /* of the command; -1: no command ran */
  const char *run; /* the name of the run that train has made; or NULL */
} McpAnswer;

/* ---- messages (mcp-server.c) ---- */

typedef struct
{
  Mcp *tools;
  FILE *out;               /* answers, a line each */
  gboolean is_initialized; /* by a client of an earlier revision */
} McpServer;

/* Answers the message of a line, unless it is a notification. */
void mcp_server_read (McpServer *server, const char *line, gsize length);

/* ---- tools (mcp-tools.c) ---- */

const McpTool *mcp_tool_find (const char *name);
/* The option of the command's table by its name; NULL: it has none. */
const GOptionEntry *mcp_tool_option (const McpTool *tool, const char *name);
/* Appends the member "tools" with names, descriptions and schemas. */
void mcp_tools_describe (LoomJson *json);

/* ---- calls (mcp-call.c) ---- */

/* root: the folder in which graphs may be read. IO if it is none. */
Mcp *mcp_new (const char *root, GError **error);
/* Removes the runs, too. */
void mcp_free (Mcp *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Mcp, mcp_free)
/* FALSE with USAGE for arguments that the tool does not have; all other faults are in the answer. */
gboolean mcp_call (Mcp *self, const McpTool *tool, JsonObject *arguments, McpAnswer *answer, GError **error);

/* ---- graphs (mcp-graph.c) ---- */

/* A graph of a call, checked to read nothing outside the folder of the server. */
typedef struct
{
  char *file;   /* absolute, or NULL: none was named */
  char *folder; /* in which its data are found */
  char *text;   /* XML */
} McpGraph;

void mcp_graph_clear (McpGraph *self);
/* file: relative to root, or NULL; text: replaces the file's, or NULL. FALSE with USAGE for a file outside root, DATA
 * for a text that is no graph or names data outside. */
gboolean mcp_graph_read (const char *root, const char *file, const char *text, McpGraph *graph, GError **error);
/* Writes a proposal after checking that its text is a graph without faults that differs from the file's. The answer has
 * its differences. */
void mcp_propose (const McpGraph *graph, const char *title, const char *reason, McpAnswer *answer);
void mcp_withdraw (const McpGraph *graph, McpAnswer *answer);
