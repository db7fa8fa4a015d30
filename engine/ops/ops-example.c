/* Makes a small example graph for an operator from its table.
 *
 * The first sample has the types of inputs and the parameters, so an operator needs nothing more. If inputs from
 * outside would show nothing (a data set has none, a gradient needs a computation), the operator writes nodes and
 * wires itself, as `example`. */
#include "engine/ops/loom-op.h"

#include <string.h>

#include "engine/graph/loom-graph.h"

static void
insert (LoomGraph *graph, LoomElement *element)
{
  LoomElement *root = loom_graph_root (graph);
  guint place = loom_element_place_for (root, loom_element_tag (element));

  loom_edit_free (loom_graph_apply (graph, loom_edit_insert (root, place, element)));
}

/* "out_features=10 bias=false" as attributes. */
static LoomElement *
new_node (const LoomOp *op, const char *id, const char *params)
{
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", id, "op", op->name, NULL);
  g_auto (GStrv) param = g_strsplit (params != NULL ? params : "", " ", -1);

  for (guint i = 0; param[i] != NULL; i++)
    {
      char *equals = strchr (param[i], '=');

      if (equals == NULL)
        continue;
      *equals = '\0';
      loom_element_set_detached (node, param[i], equals + 1);
    }
  return node;
}

/* The ports of a variadic operator are numbers, which are no helpful names of nodes. */
static char *
dup_input_id (LoomGraph *graph, const char *prefix, const char *port, guint i)
{
  if (prefix != NULL)
    return g_strdup_printf ("%s%u", prefix, i);
  return loom_scope_free_id (loom_graph_root (graph), port != NULL ? port : "input");
}

LoomGraph *
loom_op_sample_graph (const LoomOp *op, const LoomSample *sample, const char *id, const char *prefix)
{
  LoomGraph *graph;
  LoomElement *node;
  const LoomPortSpec *ports;
  gboolean variadic;

  g_return_val_if_fail (op != NULL && sample != NULL && id != NULL, NULL);

  graph = loom_graph_new (op->name);
  node = new_node (op, id, sample->params);
  ports = loom_op_inputs (op, node);
  variadic = ports != NULL && (ports[0].flags & LOOM_PORT_VARIADIC) != 0;
  for (guint i = 0; i < G_N_ELEMENTS (sample->inputs) && sample->inputs[i] != NULL; i++)
    {
      g_auto (GStrv) type = g_strsplit (sample->inputs[i], ":", 2);
      const char *port = variadic ? NULL : ports[i].name;
      g_autofree char *number = g_strdup_printf ("%u", i), *input = dup_input_id (graph, prefix, port, i);
      g_autofree char *to = g_strdup_printf ("%s.%s", id, port != NULL ? port : number);

      if (type[0] == NULL)
        continue;
      insert (graph,
              loom_element_new (LOOM_TAG_NODE, "id", input, "op", "input", "shape", type[1], "dtype", type[0], NULL));
      insert (graph, loom_element_new (LOOM_TAG_WIRE, "from", input, "to", to, NULL));
    }
  insert (graph, node);
  return graph;
}

/* The nodes and wires that the operator has written. */
static LoomGraph *
written_graph (const LoomOp *op)
{
  g_autofree char *xml = g_strdup_printf ("<graph xmlns=\"%s\" version=\"%d\" name=\"%s\">%s</graph>",
                                          LOOM_GRAPH_NAMESPACE, LOOM_GRAPH_VERSION, op->name, op->example);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (xml, strlen (xml), op->name, faults, &error);

  if (graph == NULL || loom_faults_length (faults) > 0)
    g_critical ("The example of %s is not a valid graph.", op->name);
  return graph;
}

/* For an operator without inputs (random numbers, a constant), the example shows a consumer. */
static void
add_result (LoomGraph *graph, const LoomOp *op)
{
  insert (graph, loom_element_new (LOOM_TAG_NODE, "id", "result", "op", "output", NULL));
  insert (graph, loom_element_new (LOOM_TAG_WIRE, "from", op->name, "to", "result", NULL));
}

LoomGraph *
loom_op_example (const LoomOp *op)
{
  LoomGraph *graph;

  g_return_val_if_fail (op != NULL, NULL);

  if (op->example != NULL)
    return written_graph (op);
  if (op->samples == NULL)
    return NULL;
  graph = loom_op_sample_graph (op, &op->samples[0], op->name, NULL);
  if (loom_element_find (loom_graph_root (graph), LOOM_TAG_WIRE) == NULL)
    add_result (graph, op);
  return graph;
}
