/* `gradloom mcp`: the Model Context Protocol over standard input and output (mcp-server.c). */
#include "app/commands.h"
#include "app/mcp.h"

#define MOST_BYTES (160 * 1000 * 1000) /* of a message: a graph of 64 MB, escaped */

/* Reads a line without its end. FALSE: there is no more. A longer line is cut, and then is not JSON. */
static gboolean
read_line (GString *line)
{
  int c = 0;

  g_string_truncate (line, 0);
  while ((c = getc_unlocked (stdin)) != EOF && c != '\n')
    if (line->len <= MOST_BYTES)
      g_string_append_c (line, (char)c);
  return c != EOF || line->len > 0;
}

static int
run (const Command *command, int argc, char **argv)
{
  g_autofree char *root = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) line = g_string_new (NULL);
  const GOptionEntry entries[] = {
    { "root", 0, 0, G_OPTION_ARG_FILENAME, &root, "The folder with the graphs (default: the working folder)", "DIR" },
    { NULL },
  };

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 1)
    return command_usage (command, "It takes no arguments.");
  g_autoptr (Mcp) tools = mcp_new (root != NULL ? root : ".", &error);
  McpServer server = { .tools = tools, .out = stdout };
  if (tools == NULL)
    return command_fail (command, g_steal_pointer (&error));
  while (read_line (line))
    if (line->len > 0)
      {
        mcp_server_read (&server, line->str, line->len);
        command_flush ();
      }
  return 0;
}

const Command command_mcp = {
  .name = "mcp",
  .arguments = "[--root DIR]",
  .summary = "let an agent check, plan, try and propose graphs (Model Context Protocol)",
  .details
  = "A server of the Model Context Protocol (revision 2026-07-28, and 2025-11-25 and 2025-06-18) on standard input "
    "and\n"
    "output, which an agent starts. Its tools are commands of this program with some of their options: they read\n"
    "graphs and data in DIR and installed data sets, and train in folders that are removed at the end.\n\n"
    "No tool changes a file. The tool propose writes GRAPH.proposal next to a graph; Studio shows it to the user as\n"
    "changes on the canvas, to be accepted as one undo step or refused.",
  .run = run,
};
