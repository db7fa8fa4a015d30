/* Graphs of `gradloom mcp`: read in one folder, without data outside it, and proposals for them. */
#include "app/mcp.h"

#include "engine/runs/loom-runs.h"

#include <string.h>

void
mcp_graph_clear (McpGraph *self)
{
  g_clear_pointer (&self->file, g_free);
  g_clear_pointer (&self->folder, g_free);
  g_clear_pointer (&self->text, g_free);
}

static gboolean
refuse (GError **error, LoomErrorCode code, const char *format, const char *name)
{
  g_autofree char *shown = command_printable (name);

  g_set_error (error, LOOM_ERROR, code, format, shown);
  return FALSE;
}

/* Data, weights and links that lead out of the server's folder; those of installed data sets are allowed. */
static gboolean
check_paths (const char *root, const McpGraph *graph, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) read = loom_graph_read_data (graph->text, strlen (graph->text), "the graph", faults, error);
  g_autoptr (LoomNet) net = NULL;
  g_auto (GStrv) outside = NULL;

  if (read == NULL)
    return FALSE;
  loom_graph_set_folder (read, graph->folder);
  loom_graph_set_guard (read, root, NULL);
  net = loom_net_new (read, NULL, faults);
  outside = net != NULL ? loom_net_outside_paths (net, read, NULL) : NULL;
  return outside == NULL || outside[0] == NULL
         || refuse (error, LOOM_ERROR_DATA, "The graph names %s, which is outside the server's folder.", outside[0]);
}

static gboolean
find_file (const char *root, const char *file, McpGraph *graph, GError **error)
{
  g_autofree char *path = g_canonicalize_filename (file, root), *outside = loom_path_outside (path, NULL, root);

  /* /usr/share has examples, but no files of the user. */
  if (g_path_is_absolute (file) || outside != NULL || !loom_path_is_within (path, root))
    return refuse (error, LOOM_ERROR_USAGE, "%s is outside the server's folder.", file);
  if (!loom_path_is_file (path))
    return refuse (error, LOOM_ERROR_USAGE, "%s is not a file.", file);
  graph->folder = g_path_get_dirname (path);
  graph->file = g_steal_pointer (&path);
  return TRUE;
}

gboolean
mcp_graph_read (const char *root, const char *file, const char *text, McpGraph *graph, GError **error)
{
  if (file != NULL && !find_file (root, file, graph, error))
    return FALSE;
  if (file == NULL)
    graph->folder = g_strdup (root);
  if (file == NULL && text == NULL)
    return refuse (error, LOOM_ERROR_USAGE, "Name a graph by its file or by its text%s.", "");
  if (text != NULL)
    graph->text = g_strdup (text);
  else if (!loom_path_read (graph->file, &graph->text, NULL, NULL))
    return refuse (error, LOOM_ERROR_DATA, "%s cannot be read.", file);
  return check_paths (root, graph, error);
}

/* ---- proposals --------------------------------------------------------- */

static void
answer_faults (const LoomFaults *faults, McpAnswer *answer)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);

      if (!fault->is_warning)
        g_string_append_printf (answer->text, "line %d: %s\n", fault->line, fault->message);
    }
  g_string_append (answer->text, "Nothing was proposed: the graph has faults.\n");
  answer->is_error = TRUE;
}

static void
answer_error (McpAnswer *answer, GError *error)
{
  g_string_append_printf (answer->text, "%s\n", error->message);
  answer->is_error = TRUE;
  g_error_free (error);
}

/* NULL after an answer with the faults. */
static LoomGraph *
read_whole (const McpGraph *graph, McpAnswer *answer)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) read = loom_graph_read_data (graph->text, strlen (graph->text), "the graph", faults, &error);
  g_autoptr (LoomNet) net = NULL;

  if (read == NULL)
    {
      answer_error (answer, g_steal_pointer (&error));
      return NULL;
    }
  loom_graph_set_folder (read, graph->folder);
  net = loom_net_new (read, NULL, faults);
  if (loom_faults_count (faults) == 0)
    return g_steal_pointer (&read);
  answer_faults (faults, answer);
  return NULL;
}

void
mcp_propose (const McpGraph *graph, const char *title, const char *reason, McpAnswer *answer)
{
  g_autoptr (LoomFaults) ignored = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) after = read_whole (graph, answer);
  g_autoptr (LoomGraph) before = after != NULL ? loom_graph_read_file (graph->file, ignored, &error) : NULL;
  g_autoptr (GPtrArray) differences = NULL;
  g_autoptr (LoomProposal) earlier = NULL;

  if (after == NULL)
    return;
  if (before == NULL)
    {
      answer_error (answer, g_steal_pointer (&error));
      return;
    }
  g_autofree char *base = loom_graph_hash (before), *text = loom_graph_write (after, NULL);
  const LoomProposal proposal = { (char *)title, (char *)(reason != NULL ? reason : ""), base, text };

  differences = loom_graph_diff (before, after, TRUE);
  if (differences->len == 0)
    {
      g_string_append (answer->text, "Nothing was proposed: the graph is that of the file.\n");
      answer->is_error = TRUE;
      return;
    }
  earlier = loom_proposal_read (graph->file, NULL);
  if (!loom_proposal_write (&proposal, graph->file, &error))
    {
      answer_error (answer, g_steal_pointer (&error));
      return;
    }
  g_string_append (answer->text, "Proposed; the user accepts or refuses it in Studio.\n");
  if (earlier != NULL)
    g_string_append_printf (answer->text, "It replaces the proposal “%s”.\n", earlier->title);
  for (guint i = 0; i < differences->len; i++)
    {
      const LoomDifference *d = differences->pdata[i];
      g_autofree char *words = loom_difference_to_string (d, command_printable);

      if (!d->is_cosmetic)
        g_string_append_printf (answer->text, "%s %s\n", loom_difference_sign (d->kind), words);
    }
}

void
mcp_withdraw (const McpGraph *graph, McpAnswer *answer)
{
  g_autoptr (LoomProposal) proposal = loom_proposal_read (graph->file, NULL);

  if (proposal != NULL)
    loom_proposal_remove (graph->file);
  g_string_append (answer->text, proposal != NULL ? "Withdrawn.\n" : "There is no proposal for this file.\n");
}
