/* Emits nodes of the imported graph.
 *
 * The types of each node are inferred at once, in a temporary graph of its inputs, so a mapping always knows the types
 * it works on, and a fault that the operator table finds is reported at the ONNX node that caused it. */
#include "engine/onnx/onnx-private.h"

#include <math.h>
#include <string.h>

/* The wire that mappings get after a failure, so that they can still query types. */
static const OnnxWire placeholder = { .port = "out", .type = { .dtype = LOOM_F32 } };

/* ---- nodes ------------------------------------------------------------ */

OnnxNode *
onnx_node_new (OnnxImport *all, const LoomOp *op, const char *wanted_id)
{
  OnnxNode *node = g_new0 (OnnxNode, 1);

  node->op = op;
  node->id = onnx_free_id (all, wanted_id);
  node->attributes = g_ptr_array_new_with_free_func (g_free);
  node->weights = g_ptr_array_new ();
  g_ptr_array_add (all->nodes, node);
  return node;
}

void
onnx_node_free (OnnxNode *node)
{
  for (guint i = 0; i < node->weights->len; i++)
    {
      OnnxWeight *weight = node->weights->pdata[i];
      g_free (weight->port);
      g_free (weight->name);
      loom_tensor_unref (weight->tensor);
      g_free (weight);
    }
  g_ptr_array_unref (node->weights);
  g_ptr_array_unref (node->attributes);
  g_clear_pointer (&node->copies, g_ptr_array_unref);
  g_free (node->path);
  g_free (node->weight_path);
  g_free (node->word);
  g_free (node->id);
  g_free (node->in);
  g_free (node->out);
  g_free (node);
}

static const LoomParamSpec *
param_of (const LoomOp *op, const char *name)
{
  for (const LoomParamSpec *p = op->params; p != NULL && p->name != NULL; p++)
    if (g_str_equal (p->name, name))
      return p;
  return NULL;
}

/* "3,3" becomes "3" if one value stands for all. */
static char *
shortest (const LoomParamSpec *param, const char *value)
{
  if (param != NULL && (param->type == LOOM_PARAM_INTS || param->type == LOOM_PARAM_FLOATS) && param->length > 1)
    {
      g_auto (GStrv) part = g_strsplit (value, ",", -1);
      guint same = 0;
      for (guint i = 0; part[i] != NULL; i++)
        same += g_str_equal (part[i], part[0]);
      if (same == g_strv_length (part))
        return g_strdup (part[0]);
    }
  return g_strdup (value);
}

void
onnx_node_set (OnnxNode *node, const char *name, const char *value)
{
  const LoomParamSpec *param = param_of (node->op, name);
  g_autofree char *text = shortest (param, value);

  if (param != NULL && g_strcmp0 (param->def, text) == 0)
    return;
  g_ptr_array_add (node->attributes, g_strdup (name));
  g_ptr_array_add (node->attributes, g_steal_pointer (&text));
}

const char *
onnx_node_get (const OnnxNode *node, const char *name)
{
  for (guint i = 0; i + 1 < node->attributes->len; i += 2)
    if (g_str_equal (node->attributes->pdata[i], name))
      return node->attributes->pdata[i + 1];
  for (const LoomParamSpec *p = node->op->params; p != NULL && p->name != NULL; p++)
    if (g_str_equal (p->name, name))
      return p->def;
  return NULL;
}

/* ---- faults ----------------------------------------------------------- */

/* "“relu_4”"; for a node without a name, its first output. */
static const char *
position_of (const Onnx__NodeProto *node)
{
  return node->name != NULL && *node->name ? node->name : node->n_output > 0 ? node->output[0] : NULL;
}

void
onnx_fail (OnnxCtx *c, const char *format, ...)
{
  g_autofree char *sentence = NULL;
  va_list args;

  if (c->failed)
    return;
  c->failed = TRUE;
  va_start (args, format);
  sentence = g_strdup_vprintf (format, args);
  va_end (args);
  loom_faults_add (c->all->faults, LOOM_ERROR_UNKNOWN_OP, 0, position_of (c->node), NULL, "%s: %s", c->node->op_type,
                   sentence);
}

/* ---- types ------------------------------------------------------------ */

static void
insert (LoomGraph *graph, LoomElement *element)
{
  LoomElement *root = loom_graph_root (graph);

  loom_edit_free (loom_graph_apply (graph, loom_edit_insert (root, loom_element_n_children (root), element)));
}

/* At the end of the alphabet, which names of the model do not use. */
#define LETTERS 6

/* Unknown dimensions have no notation, so they are unused symbols during one inference. Those of several inputs at the
 * same distance from the right share a symbol: operators that combine inputs require equal sizes there, and the sizes
 * are checked when the graph runs. */
static LoomShape
name_unknown (const LoomShape *shape)
{
  LoomShape s = *shape;

  for (int i = 0; i < s.rank; i++)
    if (loom_dim_is_unknown (s.dim[i]))
      s.dim[i] = loom_dim_symbol ((char)('Z' - MIN (s.rank - 1 - i, LETTERS - 1)));
  return s;
}

static LoomShape
forget_unknown (const LoomShape *shape)
{
  LoomShape s = *shape;

  for (int i = 0; i < s.rank; i++)
    for (int k = 0; k < LOOM_DIM_MAX_SYMBOLS; k++)
      if (s.dim[i].symbol[k] > 'Z' - LETTERS)
        {
          s.dim[i] = loom_dim_unknown ();
          break;
        }
  return s;
}

static gboolean
reads_symbol (const OnnxNode *node, char symbol)
{
  for (guint i = 0; i < node->n_in; i++)
    for (int d = 0; node->in[i] != NULL && d < node->in[i]->type.shape.rank; d++)
      if (memchr (node->in[i]->type.shape.dim[d].symbol, symbol, LOOM_DIM_MAX_SYMBOLS) != NULL)
        return TRUE;
  return FALSE;
}

/* A size that is counted while the graph runs is a symbol of its own, with another letter in each graph. */
static LoomShape
forget_counted (const OnnxNode *node, const LoomShape *shape)
{
  LoomShape s = *shape;

  for (int i = 0; i < s.rank && node->op->count_size != NULL; i++)
    for (int k = 0; k < LOOM_DIM_MAX_SYMBOLS; k++)
      if (s.dim[i].symbol[k] != 0 && !reads_symbol (node, s.dim[i].symbol[k]))
        {
          s.dim[i] = loom_dim_unknown ();
          break;
        }
  return s;
}

static const char *
port_name (OnnxCtx *c, const OnnxNode *node, guint i)
{
  const LoomPortSpec *spec = node->op->inputs;

  if (node->ports != NULL)
    return node->ports[i];
  if (spec != NULL && spec[0].flags & LOOM_PORT_VARIADIC)
    return onnx_text (c, "%u", i);
  for (guint k = 0; k < i && spec != NULL && spec->name != NULL; k++)
    spec++;
  return spec != NULL && spec->name != NULL ? spec->name : NULL;
}

static void
report_fault (OnnxCtx *c, const OnnxNode *node, const LoomFaults *faults)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      if (!fault->is_warning)
        {
          onnx_fail (c, "as “%s” it does not work: %s", node->op->name, fault->message);
          return;
        }
    }
}

/* The node's own weights must have the shape that the operator requires. */
static void
check_weights (OnnxCtx *c, const OnnxNode *node, const LoomNet *net)
{
  for (guint i = 0; i < node->weights->len; i++)
    {
      const OnnxWeight *own = node->weights->pdata[i];
      g_autofree char *name = g_strconcat ("n.", own->port, NULL);
      for (guint k = 0; k < loom_net_n_weights (net); k++)
        {
          const LoomNetWeight *weight = loom_net_weight (net, k);
          LoomShape shape = loom_tensor_shape (own->tensor);
          if (!g_str_equal (weight->name, name) || loom_shape_equal (&weight->shape, &shape))
            continue;
          g_autofree char *want = loom_shape_to_string (&weight->shape), *have = loom_shape_to_string (&shape);
          onnx_fail (c, "its %s is %s, but “%s” has %s.", own->port, have, node->op->name, want);
        }
    }
}

void
onnx_infer (OnnxCtx *c, OnnxNode *node)
{
  g_autoptr (LoomGraph) graph = loom_graph_new ("node");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GHashTable) done = g_hash_table_new (NULL, NULL);
  LoomElement *element = loom_element_new (LOOM_TAG_NODE, "id", "n", "op", node->op->name, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (node->body) && node->body[i] != NULL; i++)
    onnx_write_module (node->body[i], graph, done);

  for (guint i = 0; i + 1 < node->attributes->len; i += 2)
    loom_element_set_detached (element, node->attributes->pdata[i], node->attributes->pdata[i + 1]);
  insert (graph, element);
  for (guint i = 0; i < node->n_in; i++)
    if (node->in[i] != NULL)
      {
        LoomShape shape = name_unknown (&node->in[i]->type.shape);
        g_autofree char *id = g_strdup_printf ("i%u", i), *text = loom_shape_to_attribute (&shape);
        g_autofree char *to = g_strconcat ("n.", port_name (c, node, i), NULL);
        insert (graph, loom_element_new (LOOM_TAG_NODE, "id", id, "op", "input", "shape", text, "dtype",
                                         loom_dtype_name (node->in[i]->type.dtype), NULL));
        insert (graph, loom_element_new (LOOM_TAG_WIRE, "from", id, "to", to, NULL));
      }
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  int at = loom_net_find (net, "n");
  if (loom_faults_count (faults) > 0 || at < 0 || !loom_net_node (net, at)->typed)
    {
      report_fault (c, node, faults);
      onnx_fail (c, "“%s” does not take these inputs.", node->op->name);
      return;
    }
  const LoomNetNode *n = loom_net_node (net, at);
  node->n_out = n->n_outputs;
  node->out = g_new0 (OnnxWire, MAX (n->n_outputs, 1));
  for (guint i = 0; i < n->n_outputs; i++)
    {
      LoomShape shape = forget_unknown (&n->output[i].shape);
      node->out[i] = (OnnxWire){ .node = node,
                                 .port = g_intern_string (n->output_spec[i].name),
                                 .type = { n->output[i].dtype, forget_counted (node, &shape) } };
    }
  check_weights (c, node, net);
}

/* ---- emitting --------------------------------------------------------- */

/* "layer1.0.conv1.weight" is a weight of layer1.0.conv1. */
static void
set_weight_path (OnnxNode *node, const char *name, const char *port)
{
  gsize length = strlen (name), end = strlen (port) + 1;

  if (node->weight_path == NULL && length > end && g_str_has_suffix (name, port) && name[length - end] == '.')
    node->weight_path = g_strndup (name, length - end);
}

/* A weight that an embedding shares with another layer has both names in the state dict, but one in the model. */
static void
set_tied_path (OnnxCtx *c, OnnxNode *node)
{
  g_autofree char *path = onnx_module_path (c->node, c->all->classes);
  g_autofree char *name = path != NULL ? g_strconcat (path, ".weight", NULL) : NULL;

  if (name != NULL && g_hash_table_contains (c->all->kinds, name))
    node->weight_path = g_steal_pointer (&path);
}

gboolean
onnx_is_buffer (OnnxCtx *c, const char *name)
{
  return name != NULL && GPOINTER_TO_INT (g_hash_table_lookup (c->all->kinds, name)) == ONNX_KIND_BUFFER;
}

void
onnx_add_weight (OnnxCtx *c, OnnxNode *node, const char *port, LoomTensor *tensor, const char *name)
{
  OnnxWeight *weight;

  if (c->failed || node == NULL)
    return;
  weight = g_new0 (OnnxWeight, 1);
  weight->port = g_strdup (port);
  weight->name = g_strdup (name);
  weight->tensor = loom_tensor_ref (tensor);
  g_ptr_array_add (node->weights, weight);
  if (name != NULL)
    set_weight_path (node, name, port);
}

static void
add_own_weight (OnnxCtx *c, OnnxNode *node, const char *port, OnnxValue *value)
{
  OnnxWire *wire = g_new0 (OnnxWire, 1);
  const char *name = onnx_state_name (c->all, value);
  g_autofree char *tied = NULL;

  if (g_str_equal (node->op->name, "embedding"))
    set_tied_path (c, node);
  if (node->weight_path != NULL && node->weights->len == 0)
    name = tied = g_strconcat (node->weight_path, ".", port, NULL);
  onnx_add_weight (c, node, port, value->constant, name);
  if (name == NULL)
    set_weight_path (node, value->name, port);
  if (onnx_is_buffer (c, name))
    onnx_node_set (node, "frozen", "true");
  *wire = (OnnxWire){ .node = node,
                      .port = g_intern_string (port),
                      .type = { LOOM_F32, loom_tensor_shape (value->constant) } };
  g_ptr_array_add (c->all->wires, wire);
  /* Other readers of this weight are tied to it. */
  value->wire = wire;
}

static const char *
wanted_id (OnnxCtx *c, const LoomOp *op)
{
  return !c->drawn && c->node != NULL && c->node->name != NULL && *c->node->name ? c->node->name : op->name;
}

const OnnxWire *
onnx_emit (OnnxCtx *c, const char *name, guint n_in, const OnnxWire **in, ...)
{
  const LoomOp *op = loom_op (name);
  va_list args;
  const char *key;

  if (c->failed)
    return &placeholder;
  if (op == NULL)
    {
      onnx_fail (c, "it needs the operator “%s”, which this version does not have.", name);
      return &placeholder;
    }
  OnnxNode *node = onnx_node_new (c->all, op, wanted_id (c, op));
  va_start (args, in);
  while ((key = va_arg (args, const char *)) != NULL)
    {
      const char *value = va_arg (args, const char *);
      if (value != NULL && param_of (op, key) == NULL)
        onnx_fail (c, "it needs “%s” of “%s”, which this version does not have.", key, name);
      else if (value != NULL)
        onnx_node_set (node, key, value);
    }
  va_end (args);
  node->in = g_new0 (const OnnxWire *, MAX (n_in, 1));
  for (guint i = 0; i < n_in; i++)
    {
      const char *port = in[i] != NULL ? port_name (c, node, i) : NULL;
      if (in[i] == NULL)
        continue;
      if (port == NULL)
        onnx_fail (c, "“%s” has no input number %u.", name, i + 1);
      else if (in[i]->own != NULL)
        add_own_weight (c, node, port, in[i]->own);
      else
        node->in[i] = in[i];
    }
  node->n_in = n_in;
  if (!c->failed)
    onnx_infer (c, node);
  onnx_batch_check_node (c, node);
  return c->failed ? &placeholder : &node->out[0];
}

const OnnxWire *
onnx_sibling (OnnxCtx *c, const OnnxWire *wire, const char *port)
{
  for (guint i = 0; wire->node != NULL && i < wire->node->n_out; i++)
    if (g_str_equal (wire->node->out[i].port, port))
      return &wire->node->out[i];
  if (wire->node != NULL)
    onnx_fail (c, "“%s” has no output “%s” in this version.", wire->node->op->name, port);
  return &placeholder;
}

void
onnx_own (OnnxCtx *c, const OnnxWire *wire, const char *port, LoomTensor *tensor)
{
  onnx_add_weight (c, wire->node, port, tensor, NULL);
}

void
onnx_own_named (OnnxCtx *c, const OnnxWire *wire, const char *port, const OnnxValue *value)
{
  onnx_add_weight (c, wire->node, port, value->constant, onnx_state_name (c->all, value));
}

void
onnx_take_weight (OnnxCtx *c, const OnnxWire *wire, const char *port, const OnnxNode *parameter)
{
  const OnnxWeight *from = parameter->weights->pdata[0];

  onnx_add_weight (c, wire->node, port, from->tensor, from->name);
  if (!c->failed && wire->node != NULL)
    set_weight_path (wire->node, parameter->weight_path, port);
}

/* ---- small nodes ------------------------------------------------------ */

const OnnxWire *
onnx_unary (OnnxCtx *c, const char *op, const OnnxWire *x)
{
  return onnx_emit (c, op, ONNX_IN (x), NULL);
}

const OnnxWire *
onnx_binary (OnnxCtx *c, const char *op, const OnnxWire *a, const OnnxWire *b)
{
  return onnx_emit (c, op, ONNX_IN (a, b), NULL);
}

const OnnxWire *
onnx_with_number (OnnxCtx *c, const char *op, const OnnxWire *x, double other)
{
  const LoomOp *o = loom_op (op);

  if (!isfinite (other))
    {
      onnx_fail (c, "a number in it is not finite.");
      return &placeholder;
    }
  return onnx_emit (c, op, ONNX_IN (x), o != NULL && o->inputs[1].name != NULL ? o->inputs[1].name : "other",
                    onnx_number (c, other), NULL);
}

const OnnxWire *
onnx_constant (OnnxCtx *c, double value, LoomDType dtype)
{
  return onnx_emit (c, "constant", 0, NULL, "value", onnx_number (c, value), "dtype", loom_dtype_name (dtype), NULL);
}

const OnnxWire *
onnx_cast (OnnxCtx *c, const OnnxWire *x, LoomDType dtype)
{
  if (x->type.dtype == dtype)
    return x;
  return onnx_emit (c, "cast", ONNX_IN (x), "dtype", loom_dtype_name (dtype), NULL);
}

const OnnxWire *
onnx_reshape (OnnxCtx *c, const OnnxWire *x, const LoomShape *shape)
{
  if (loom_shape_equal (&x->type.shape, shape))
    return x;
  return onnx_emit (c, "reshape", ONNX_IN (x), "shape", onnx_dims_and_rest (c, shape), NULL);
}

const OnnxWire *
onnx_permute (OnnxCtx *c, const OnnxWire *x, const gint64 *order)
{
  int rank = x->type.shape.rank;
  gboolean same = TRUE;

  for (int i = 0; i < rank; i++)
    same = same && order[i] == i;
  return same ? x : onnx_emit (c, "permute", ONNX_IN (x), "dims", onnx_list (c, rank, order), NULL);
}

const OnnxWire *
onnx_clamp (OnnxCtx *c, const OnnxWire *x, double least, double most)
{
  return onnx_emit (c, "clamp", ONNX_IN (x), "min", isfinite (least) ? onnx_number (c, least) : NULL, "max",
                    isfinite (most) ? onnx_number (c, most) : NULL, NULL);
}

const OnnxWire *
onnx_unsqueeze (OnnxCtx *c, const OnnxWire *x, int dim)
{
  return onnx_emit (c, "unsqueeze", ONNX_IN (x), "dim", onnx_text (c, "%d", dim), NULL);
}

const OnnxWire *
onnx_slice (OnnxCtx *c, const OnnxWire *x, int dim, gint64 start, gint64 end, gint64 step)
{
  return onnx_emit (c, "slice", ONNX_IN (x), "dim", onnx_text (c, "%d", dim), "start",
                    onnx_text (c, "%" G_GINT64_FORMAT, start), "end", onnx_text (c, "%" G_GINT64_FORMAT, end), "step",
                    onnx_text (c, "%" G_GINT64_FORMAT, step), NULL);
}

const OnnxWire *
onnx_reduce (OnnxCtx *c, const char *op, const OnnxWire *x, guint n_axes, const gint64 *axes, gboolean keep)
{
  gint64 every[LOOM_SHAPE_MAX_RANK];

  if (n_axes == 0)
    {
      n_axes = x->type.shape.rank;
      for (guint i = 0; i < n_axes; i++)
        every[i] = i;
      axes = every;
    }
  if (n_axes == 0)
    return x;
  return onnx_emit (c, op, ONNX_IN (x), "dim", onnx_list (c, n_axes, axes), "keepdim", keep ? "true" : "false", NULL);
}
