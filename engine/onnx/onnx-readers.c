/* Keeps which nodes read a wire, and detaches weights, whose readers then read a parameter. */
#include "engine/onnx/onnx-readers.h"

void
onnx_readers_add (GHashTable *all, OnnxNode *reader, const OnnxWire *wire)
{
  GPtrArray *readers = g_hash_table_lookup (all, wire);

  if (readers == NULL)
    {
      readers = g_ptr_array_new ();
      g_hash_table_insert (all, (gpointer)wire, readers);
    }
  g_ptr_array_add (readers, reader);
}

/* The index of a port of weights among the inputs of an operator; −1 for a buffer that is no port (the statistics of
 * batch norm). */
static int
port_index (const LoomOp *op, const char *port)
{
  for (int k = 0; op->inputs[k].name != NULL; k++)
    if (g_str_equal (op->inputs[k].name, port))
      return k;
  return -1;
}

gboolean
onnx_may_detach (const OnnxNode *node, const OnnxWeight *weight)
{
  return port_index (node->op, weight->port) >= 0;
}

void
onnx_detach_weight (OnnxImport *all, GHashTable *readers_of, OnnxNode *node, OnnxWeight *weight)
{
  OnnxNode *parameter = onnx_node_new (all, loom_op ("parameter"), weight->port);
  LoomShape shape = loom_tensor_shape (weight->tensor);
  g_autofree char *sizes = loom_shape_to_attribute (&shape);
  const guint k = (guint)port_index (node->op, weight->port);

  onnx_node_set (parameter, "shape", sizes);
  onnx_node_set (parameter, "init", "zeros");
  parameter->in = g_new0 (const OnnxWire *, 1);
  parameter->out = g_new0 (OnnxWire, 1);
  parameter->n_out = 1;
  parameter->out[0]
      = (OnnxWire){ .node = parameter, .port = g_intern_static_string ("out"), .type = { LOOM_F32, shape } };
  parameter->live = TRUE;
  parameter->weight_path = g_strdup (weight->name);
  if (k >= node->n_in)
    {
      node->in = g_renew (const OnnxWire *, node->in, k + 1);
      for (; node->n_in <= k; node->n_in++)
        node->in[node->n_in] = NULL;
    }
  node->in[k] = parameter->out;
  onnx_readers_add (readers_of, node, parameter->out);
  for (guint i = 0; i < all->wires->len; i++)
    {
      const OnnxWire *tied = all->wires->pdata[i];
      const GPtrArray *readers = tied->node == node && g_str_equal (tied->port, weight->port)
                                     ? g_hash_table_lookup (readers_of, tied)
                                     : NULL;

      for (guint r = 0; readers != NULL && r < readers->len; r++)
        {
          OnnxNode *reader = readers->pdata[r];

          for (guint n = 0; n < reader->n_in; n++)
            if (reader->in[n] == tied)
              reader->in[n] = parameter->out;
          onnx_readers_add (readers_of, reader, parameter->out);
        }
    }
  g_free (weight->port);
  weight->port = g_strdup ("out");
  g_ptr_array_add (parameter->weights, weight);
}
