/* Sorts nodes topologically.
 *
 * ONNX requires that order in the file, but some programs write another. Nodes of graphs inside a node count as the
 * node's own, because they read outer names. */
#include "engine/onnx/onnx-private.h"

/* The names that a node reads, including those of the graphs inside it. */
static void
add_names (GPtrArray *names, const Onnx__NodeProto *node)
{
  for (gsize k = 0; k < node->n_input; k++)
    g_ptr_array_add (names, node->input[k]);
  for (gsize k = 0; k < node->n_attribute; k++)
    {
      const Onnx__GraphProto *graph = node->attribute[k]->g;

      for (gsize i = 0; graph != NULL && i < graph->n_node; i++)
        add_names (names, graph->node[i]);
      for (gsize i = 0; graph != NULL && i < graph->n_output; i++)
        if (graph->output[i]->name != NULL)
          g_ptr_array_add (names, graph->output[i]->name);
    }
}

/* A name inside may be one of its own; it is then counted once too often, which prevents no more than a tie. */
void
onnx_count_uses (GHashTable *uses, const Onnx__GraphProto *graph)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (gsize i = 0; i < graph->n_node; i++)
    add_names (names, graph->node[i]);
  for (gsize i = 0; i < graph->n_output; i++)
    if (graph->output[i]->name != NULL)
      g_ptr_array_add (names, graph->output[i]->name);
  for (guint i = 0; i < names->len; i++)
    g_hash_table_insert (uses, g_strdup (names->pdata[i]),
                         GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (uses, names->pdata[i])) + 1));
}

/* A node on the path to the nodes that it needs. */
typedef struct
{
  guint node;
  GPtrArray *names;
  guint next; /* index of the next name */
} Visit;

static void
visit_clear (gpointer data)
{
  g_ptr_array_unref (((Visit *)data)->names);
}

static void
begin (GArray *path, const Onnx__GraphProto *graph, guint node, guint8 *state)
{
  Visit visit = { .node = node, .names = g_ptr_array_new () };

  add_names (visit.names, graph->node[node]);
  state[node] = 1;
  g_array_append_val (path, visit);
}

/* A depth-first search with an explicit path, since a model may be a chain of any length. A node that needs itself is
 * listed too; the names that it reads are then reported as unknown. */
GPtrArray *
onnx_nodes_in_order (const Onnx__GraphProto *graph)
{
  g_autoptr (GHashTable) makers = g_hash_table_new (g_str_hash, g_str_equal); /* name → node + 1 */
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (Visit));
  g_autofree guint8 *state = g_new0 (guint8, graph->n_node + 1); /* 1: on the path, or listed */
  GPtrArray *nodes = g_ptr_array_new ();

  g_array_set_clear_func (path, visit_clear);
  for (guint i = 0; i < graph->n_node; i++)
    for (gsize k = 0; k < graph->node[i]->n_output; k++)
      if (!g_hash_table_contains (makers, graph->node[i]->output[k]))
        g_hash_table_insert (makers, graph->node[i]->output[k], GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < graph->n_node; i++)
    {
      if (!state[i])
        begin (path, graph, i, state);
      while (path->len > 0)
        {
          Visit *visit = &g_array_index (path, Visit, path->len - 1);
          guint maker = 0;

          while (visit->next < visit->names->len && (maker == 0 || state[maker - 1]))
            maker = GPOINTER_TO_UINT (g_hash_table_lookup (makers, visit->names->pdata[visit->next++]));
          if (maker != 0 && !state[maker - 1])
            begin (path, graph, maker - 1, state);
          else
            {
              g_ptr_array_add (nodes, graph->node[visit->node]);
              g_array_set_size (path, path->len - 1);
            }
        }
    }
  return nodes;
}
