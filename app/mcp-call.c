/* Calls of `gradloom mcp`: a command runs as a process of its own, with the graph on its standard input. */
#include "app/mcp.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

#define MOST_SECONDS 300
#define MOST_BYTES   200000 /* of an answer */
#define MOST_STEPS   1000
#define STEPS        20

struct _Mcp
{
  char *root; /* absolute, without links */
  char *program;
  char *temporary; /* NULL: none yet */
  GPtrArray *runs; /* char*: names; their folders are in `temporary` */
};

Mcp *
mcp_new (const char *root, GError **error)
{
  g_autofree char *full = g_canonicalize_filename (root, NULL);
  Mcp *self;

  if (!loom_path_is_folder (root))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” is not a folder.", root);
      return NULL;
    }
  self = g_new0 (Mcp, 1);
  self->root = loom_file_target (full);
  self->program = loom_path_link ("/proc/self/exe");
  self->runs = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
mcp_free (Mcp *self)
{
  if (self == NULL)
    return;
  if (self->temporary != NULL)
    loom_path_remove_all (self->temporary);
  g_free (self->root);
  g_free (self->program);
  g_free (self->temporary);
  g_ptr_array_unref (self->runs);
  g_free (self);
}

/* ---- arguments --------------------------------------------------------- */

static gboolean
refuse (GError **error, const char *format, const char *name)
{
  g_autofree char *shown = command_printable (name);

  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, format, shown);
  return FALSE;
}

/* FALSE if the member is there and is no text. *text is NULL if it is missing. */
static gboolean
read_text (JsonObject *arguments, const char *name, const char **text, GError **error)
{
  JsonNode *node = arguments != NULL ? json_object_get_member (arguments, name) : NULL;

  *text = NULL;
  if (node == NULL)
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return refuse (error, "“%s” must be a text.", name);
  *text = json_node_get_string (node);
  return TRUE;
}

/* The word for a value: one argument of the command, whatever the value contains. NULL: not of the option's type. */
static char *
word_of (const GOptionEntry *entry, JsonNode *node)
{
  const GType type = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_NONE;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  switch (entry->arg)
    {
    case G_OPTION_ARG_INT:
    case G_OPTION_ARG_INT64:
      if (type == G_TYPE_INT64)
        return g_strdup_printf ("--%s=%" G_GINT64_FORMAT, entry->long_name, json_node_get_int (node));
      return NULL;
    case G_OPTION_ARG_DOUBLE:
      if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
        return NULL;
      return g_strdup_printf ("--%s=%s", entry->long_name,
                              g_ascii_dtostr (number, sizeof number, json_node_get_double (node)));
    default:
      if (type == G_TYPE_STRING)
        return g_strdup_printf ("--%s=%s", entry->long_name, json_node_get_string (node));
      /* "batch-size" and the like are texts in some commands, because they are checked there. */
      if (type == G_TYPE_INT64)
        return g_strdup_printf ("--%s=%" G_GINT64_FORMAT, entry->long_name, json_node_get_int (node));
      if (type == G_TYPE_DOUBLE)
        return g_strdup_printf ("--%s=%s", entry->long_name,
                                g_ascii_dtostr (number, sizeof number, json_node_get_double (node)));
      return NULL;
    }
}

static gboolean
add_option (GPtrArray *words, const GOptionEntry *entry, JsonNode *node, GError **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (entry->arg == G_OPTION_ARG_NONE)
    {
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
        return refuse (error, "“%s” must be true or false.", entry->long_name);
      if (json_node_get_boolean (node))
        g_ptr_array_add (words, g_strconcat ("--", entry->long_name, NULL));
      return TRUE;
    }
  if (array != NULL && entry->arg != G_OPTION_ARG_STRING_ARRAY)
    return refuse (error, "“%s” takes one value.", entry->long_name);
  for (guint i = 0; i < (array != NULL ? json_array_get_length (array) : 1); i++)
    {
      char *word = word_of (entry, array != NULL ? json_array_get_element (array, i) : node);

      if (word == NULL)
        return refuse (error, "“%s” has a value of another type.", entry->long_name);
      g_ptr_array_add (words, word);
    }
  return TRUE;
}

static gboolean
is_of_subject (McpSubject subject, const char *name)
{
  static const char *const names[][5] = { [MCP_GRAPH] = { "graph", "xml" },
                                          [MCP_RUN] = { "run" },
                                          [MCP_EITHER] = { "graph", "xml", "run" },
                                          [MCP_NAME] = { "name" },
                                          [MCP_TWO] = { "graph", "xml" },
                                          [MCP_FILE] = { "graph" },
                                          [MCP_PROPOSAL] = { "graph", "xml", "title", "reason" } };

  return g_strv_contains (names[subject], name);
}

static gboolean
add_options (GPtrArray *words, const McpTool *tool, JsonObject *arguments, GError **error)
{
  g_autoptr (GList) names = arguments != NULL ? json_object_get_members (arguments) : NULL;

  for (GList *l = names; l != NULL; l = l->next)
    {
      const GOptionEntry *entry = mcp_tool_option (tool, l->data);

      if (entry == NULL && !is_of_subject (tool->subject, l->data))
        return refuse (error, "The tool has no argument “%s”.", l->data);
      if (entry != NULL && !add_option (words, entry, json_object_get_member (arguments, l->data), error))
        return FALSE;
    }
  return TRUE;
}

/* ---- processes --------------------------------------------------------- */

typedef struct
{
  GMainLoop *loop;
  GSubprocess *process;
  char *out, *err;
  gboolean is_late;
} Wait;

/* The data of no bytes are NULL. */
static char *
valid (GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  return length > 0 ? g_utf8_make_valid (data, (gssize)length) : g_strdup ("");
}

static void
ended_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Wait *wait = data;
  g_autoptr (GBytes) out = NULL, err = NULL;

  if (g_subprocess_communicate_finish (wait->process, result, &out, &err, NULL))
    {
      wait->out = valid (out);
      wait->err = valid (err);
    }
  g_main_loop_quit (wait->loop);
}

static gboolean
late_cb (gpointer data)
{
  Wait *wait = data;

  wait->is_late = TRUE;
  g_subprocess_force_exit (wait->process);
  return G_SOURCE_REMOVE;
}

/* Cuts within a character never: both texts are valid, and so is what is kept. */
static void
append_bounded (GString *to, const char *text)
{
  const gsize length = strlen (text);

  if (length <= MOST_BYTES)
    {
      g_string_append (to, text);
      return;
    }
  const char *end = g_utf8_find_prev_char (text, text + MOST_BYTES);
  g_string_append_len (to, text, end - text);
  g_string_append_printf (to, "\n… %" G_GSIZE_FORMAT " more bytes; ask for less.\n", length - (gsize)(end - text));
}

static gboolean
run (Mcp *self, GPtrArray *words, const char *folder, const char *input, McpAnswer *answer, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE | G_SUBPROCESS_FLAGS_STDIN_PIPE);
  g_autoptr (GBytes) text = g_bytes_new (input != NULL ? input : "", input != NULL ? strlen (input) : 0);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Wait wait = { .loop = loop };
  guint limit;

  g_ptr_array_add (words, NULL);
  g_subprocess_launcher_set_cwd (launcher, folder);
  g_subprocess_launcher_setenv (launcher, "LANGUAGE", "en", TRUE); /* agents read English */
  wait.process = g_subprocess_launcher_spawnv (launcher, (const char *const *)words->pdata, error);
  if (wait.process == NULL)
    return FALSE;
  limit = g_timeout_add_seconds (MOST_SECONDS, late_cb, &wait);
  g_subprocess_communicate_async (wait.process, text, NULL, ended_cb, &wait);
  g_main_loop_run (loop);
  if (wait.is_late)
    g_string_append_printf (answer->text, "The command was ended after %d seconds.\n", MOST_SECONDS);
  else
    g_source_remove (limit);
  answer->status = g_subprocess_get_if_exited (wait.process) ? g_subprocess_get_exit_status (wait.process) : 128;
  if (wait.out != NULL)
    append_bounded (answer->text, wait.out);
  if (wait.err != NULL)
    append_bounded (answer->text, wait.err);
  g_free (wait.out);
  g_free (wait.err);
  g_object_unref (wait.process);
  return TRUE;
}

/* ---- runs -------------------------------------------------------------- */

/* The folder of a run that train has made. (transfer full) */
static char *
find_run (Mcp *self, const char *name, GError **error)
{
  if (!g_ptr_array_find_with_equal_func (self->runs, name, g_str_equal, NULL))
    {
      refuse (error, "There is no run “%s”; the tool train makes runs.", name);
      return NULL;
    }
  return g_build_filename (self->temporary, name, NULL);
}

/* Adds --out, and a number of steps unless it is given. */
static gboolean
add_run (Mcp *self, GPtrArray *words, JsonObject *arguments, char **name, GError **error)
{
  const gint64 steps = arguments != NULL && json_object_has_member (arguments, "steps")
                           ? json_object_get_int_member (arguments, "steps")
                           : STEPS;

  if (steps < 1 || steps > MOST_STEPS)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“steps” is from 1 to %d.", MOST_STEPS);
      return FALSE;
    }
  if (self->temporary == NULL)
    self->temporary = loom_path_make_temporary ("gradloom-mcp", error);
  if (self->temporary == NULL)
    return FALSE;
  *name = g_strdup_printf ("run-%u", self->runs->len + 1);
  if (arguments == NULL || !json_object_has_member (arguments, "steps"))
    g_ptr_array_add (words, g_strdup_printf ("--steps=%d", STEPS));
  g_ptr_array_add (words, g_strdup_printf ("--out=%s/%s", self->temporary, *name));
  return TRUE;
}

static void
note_run (Mcp *self, char *name, McpAnswer *answer)
{
  g_autofree char *graph = g_build_filename (self->temporary, name, "weights.safetensors", NULL);

  if (!loom_path_is_file (graph))
    {
      g_free (name);
      return;
    }
  g_ptr_array_add (self->runs, name);
  answer->run = name;
  g_string_append_printf (answer->text, "run: %s\n", name);
}

/* ---- calls ------------------------------------------------------------- */

/* An error about the graph is an answer that the model can act on; one about the call is the caller's. */
static gboolean
read_graph (Mcp *self, const char *file, const char *text, McpGraph *graph, McpAnswer *answer, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (mcp_graph_read (self->root, file, text, graph, &local))
    return TRUE;
  if (g_error_matches (local, LOOM_ERROR, LOOM_ERROR_USAGE))
    g_propagate_error (error, g_steal_pointer (&local));
  else
    {
      g_string_append_printf (answer->text, "%s\n", local->message);
      answer->is_error = TRUE;
    }
  return FALSE;
}

static gboolean
run_command (Mcp *self, const McpTool *tool, JsonObject *arguments, const McpGraph *graph, const char *name,
             const char *folder, McpAnswer *answer, GError **error)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *made = NULL;

  g_ptr_array_add (words, g_strdup (self->program));
  g_ptr_array_add (words, g_strdup (tool->command));
  for (guint i = 0; tool->fixed != NULL && tool->fixed[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (tool->fixed[i]));
  if (!add_options (words, tool, arguments, error)
      || (g_str_equal (tool->name, "train") && !add_run (self, words, arguments, &made, error)))
    return FALSE;
  g_ptr_array_add (words, g_strdup ("--"));
  if (tool->subject == MCP_TWO)
    g_ptr_array_add (words, g_strdup (graph->file));
  if (name != NULL || folder != NULL)
    g_ptr_array_add (words, g_strdup (name != NULL ? name : folder));
  else if (tool->subject != MCP_NAME)
    g_ptr_array_add (words, g_strdup ("-"));
  if (!run (self, words, graph->folder != NULL ? graph->folder : self->root, graph->text, answer, error))
    return FALSE;
  /* The status of diff says whether the graphs differ. */
  answer->is_error = answer->status > (tool->subject == MCP_TWO ? 1 : 0);
  if (made != NULL)
    note_run (self, g_steal_pointer (&made), answer);
  return TRUE;
}

gboolean
mcp_call (Mcp *self, const McpTool *tool, JsonObject *arguments, McpAnswer *answer, GError **error)
{
  const char *file, *xml, *run_name, *name, *title, *reason;
  g_autofree char *folder = NULL;
  g_autoptr (GPtrArray) none = g_ptr_array_new_with_free_func (g_free);
  McpGraph graph = { NULL };
  gboolean done = TRUE;

  answer->status = -1;
  if (!read_text (arguments, "graph", &file, error) || !read_text (arguments, "xml", &xml, error)
      || !read_text (arguments, "run", &run_name, error) || !read_text (arguments, "name", &name, error)
      || !read_text (arguments, "title", &title, error) || !read_text (arguments, "reason", &reason, error)
      || !add_options (none, tool, arguments, error))
    return FALSE;
  if ((tool->subject == MCP_TWO || tool->subject == MCP_PROPOSAL) && (file == NULL || xml == NULL))
    return refuse (error, "The tool needs “graph” and “xml”%s.", "");
  if (tool->subject == MCP_FILE && file == NULL)
    return refuse (error, "The tool needs a “graph”%s.", "");
  if (tool->subject == MCP_PROPOSAL && title == NULL)
    return refuse (error, "The tool needs a “title”%s.", "");
  if (tool->subject == MCP_RUN && run_name == NULL)
    return refuse (error, "The tool needs a “run”%s.", "");
  if (run_name != NULL && (folder = find_run (self, run_name, error)) == NULL)
    return FALSE;
  if (folder == NULL && tool->subject != MCP_NAME && !read_graph (self, file, xml, &graph, answer, error))
    done = answer->is_error;
  else if (tool->command != NULL)
    done = run_command (self, tool, arguments, &graph, name, folder, answer, error);
  else if (tool->subject == MCP_PROPOSAL)
    mcp_propose (&graph, title, reason, answer);
  else if (tool->subject == MCP_FILE)
    mcp_withdraw (&graph, answer);
  else
    append_bounded (answer->text, graph.text);
  mcp_graph_clear (&graph);
  return done;
}
