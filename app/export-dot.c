/* `--to dot`: the flat net for graphviz. A module is a cluster, each copy of a repeat is a cluster within it, and wires
 * are labelled with shapes. */
#include "app/export-target.h"

#include <stdio.h>
#include <string.h>

/* A quoted string of DOT: only the quote and backslashes are special; control characters are left to no viewer. */
static void
append_quoted (GString *s, const char *text)
{
  g_autofree char *shown = loom_text_printable (text, FALSE, G_MAXLONG);

  g_string_append_c (s, '"');
  for (const char *c = shown; *c; c++)
    {
      if (*c == '"' || *c == '\\')
        g_string_append_c (s, '\\');
      if (*c == '\n')
        g_string_append (s, "\\n");
      else
        g_string_append_c (s, *c);
    }
  g_string_append_c (s, '"');
}

static void
indent (GString *s, guint depth)
{
  for (guint i = 0; i < depth; i++)
    g_string_append (s, "  ");
}

/* Closes and opens clusters until the open ones are the modules of `path` (all names but the last). open: their names.
 */
static void
enter (GString *s, GPtrArray *open, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  guint n = MAX (g_strv_length (part), 1) - 1, same = 0;

  while (same < n && same < open->len && g_str_equal (part[same], open->pdata[same]))
    same++;
  while (open->len > same)
    {
      indent (s, open->len);
      g_string_append (s, "}\n");
      g_ptr_array_set_size (open, (int)open->len - 1);
    }
  while (open->len < n)
    {
      g_autoptr (GString) name = g_string_new ("cluster");
      for (guint i = 0; i <= open->len; i++)
        g_string_append_printf (name, ".%s", part[i]);
      indent (s, open->len + 1);
      g_string_append (s, "subgraph ");
      append_quoted (s, name->str);
      g_string_append (s, " {\n");
      indent (s, open->len + 2);
      g_string_append (s, "label=");
      append_quoted (s, part[open->len]);
      g_string_append (s, ";\n");
      g_ptr_array_add (open, g_strdup (part[open->len]));
    }
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(const LoomNetNode *const *)a)->path, (*(const LoomNetNode *const *)b)->path);
}

static void
append_nodes (GString *s, const LoomNet *net)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new (), open = g_ptr_array_new_with_free_func (g_free);

  /* Nodes are listed cluster by cluster, which is not always the order of computation. */
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    g_ptr_array_add (nodes, (gpointer)loom_net_node (net, i));
  g_ptr_array_sort (nodes, compare_paths);
  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomNetNode *n = nodes->pdata[i];
      const char *name = strrchr (n->path, '.') != NULL ? strrchr (n->path, '.') + 1 : n->path;
      const char *op = n->op != NULL ? n->op->name : loom_element_get (n->element, "op");
      g_autofree char *label
          = g_strdup_printf ("%s\n%s%s%s", name, op != NULL ? op : "?", n->summary != NULL && *n->summary ? " · " : "",
                             n->summary != NULL ? n->summary : "");
      enter (s, open, n->path);
      indent (s, open->len + 1);
      append_quoted (s, n->path);
      g_string_append (s, " [label=");
      append_quoted (s, label);
      g_string_append (s, "];\n");
    }
  enter (s, open, "");
}

static void
append_wires (GString *s, const LoomNet *net)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);

      for (guint k = 0; k < n->n_inputs; k++)
        {
          gboolean weight;
          if (n->input[k].node >= i)
            continue;
          const LoomNetNode *from = loom_net_node (net, n->input[k].node);
          weight = loom_net_is_weight (net, &n->input[k]);
          g_string_append (s, "  ");
          append_quoted (s, from->path);
          g_string_append (s, " -> ");
          append_quoted (s, n->path);
          if (weight)
            g_string_append (s, " [style=dashed, label=\"weight\"]");
          else if (from->typed && n->input[k].output < from->n_outputs)
            {
              g_autofree char *shape = loom_shape_to_string (&from->output[n->input[k].output].shape);
              g_string_append (s, " [label=");
              append_quoted (s, shape);
              g_string_append_c (s, ']');
            }
          g_string_append (s, ";\n");
        }
    }
}

static int
run (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomNet) net = loom_net_new (job->graph, NULL, NULL);
  g_autofree char *file = export_file (job);
  const char *name = loom_element_get (loom_graph_root (job->graph), "name");
  g_autoptr (GString) s = g_string_new ("digraph ");

  append_quoted (s, name != NULL ? name : "graph");
  g_string_append (s, " {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
                      "  edge [fontname=\"sans-serif\", fontsize=10];\n");
  append_nodes (s, net);
  append_wires (s, net);
  g_string_append (s, "}\n");
  if (g_str_equal (file, "-"))
    {
      fwrite (s->str, 1, s->len, stdout);
      return 0;
    }
  if (!loom_file_replace (file, s->str, s->len, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  export_wrote (job, file);
  return 0;
}

const ExportTarget export_dot = { .format = "dot", .run = run };
