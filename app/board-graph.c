/* A net as TensorFlow's GraphDef; see the header. Fields are those of graph.proto, attr_value.proto and
 * tensor_shape.proto. */
#include "app/board-graph.h"

static char *
scoped (const char *path)
{
  return g_strdelimit (g_strdup (path), ".", '/');
}

/* A TensorShapeProto; sizes that are not known, such as that of the batch, are -1. */
static GByteArray *
shape_new (const LoomShape *shape)
{
  GByteArray *message = g_byte_array_new ();

  for (int i = 0; i < shape->rank; i++)
    {
      GByteArray *dim = g_byte_array_new ();

      board_put_int (dim, 1, loom_dim_is_known (shape->dim[i]) ? loom_dim_value (shape->dim[i], NULL) : -1);
      board_put_message (message, 2, dim);
    }
  return message;
}

/* An entry of the map NodeDef.attr; frees the AttrValue. */
static void
put_attribute (GByteArray *node, const char *name, GByteArray *value)
{
  GByteArray *entry = g_byte_array_new ();

  board_put_string (entry, 1, name);
  board_put_message (entry, 2, value);
  board_put_message (node, 5, entry);
}

static void
put_attributes (GByteArray *message, const LoomNetNode *node)
{
  static const char *const known[] = { "id", "op", NULL };
  GByteArray *value = g_byte_array_new (), *list = g_byte_array_new ();

  for (guint i = 0; node->element != NULL && i < loom_element_n_attributes (node->element); i++)
    {
      const char *name, *text;

      loom_element_attribute (node->element, i, &name, &text);
      if (g_strv_contains (known, name))
        continue;
      GByteArray *word = g_byte_array_new ();
      board_put_string (word, 2, text);
      put_attribute (message, name, word);
    }
  for (guint i = 0; node->typed && i < node->n_outputs; i++)
    board_put_message (list, 7, shape_new (&node->output[i].shape));
  board_put_message (value, 1, list);
  put_attribute (message, "_output_shapes", value);
}

/* "conv1", or "data:1" for another output than the first. A weight that is read from its node is the node. */
static void
put_input (GByteArray *message, const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *from = loom_net_node (net, source->node);
  g_autofree char *name = scoped (from->path), *port = NULL;

  if (source->output > 0 && source->output < from->n_outputs)
    port = g_strdup_printf ("%s:%u", name, source->output);
  board_put_string (message, 3, port != NULL ? port : name);
}

GByteArray *
board_graph_new (const LoomNet *net)
{
  GByteArray *graph = g_byte_array_new (), *versions = g_byte_array_new ();

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      GByteArray *message = g_byte_array_new ();
      g_autofree char *name = scoped (node->path);

      board_put_string (message, 1, name);
      board_put_string (message, 2, node->op != NULL ? node->op->name : "unknown");
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->input[k].node != G_MAXUINT)
          put_input (message, net, &node->input[k]);
      if (node->device != NULL)
        board_put_string (message, 4, node->device);
      put_attributes (message, node);
      board_put_message (graph, 1, message);
    }
  board_put_int (versions, 1, 22);
  board_put_message (graph, 4, versions);
  return graph;
}
