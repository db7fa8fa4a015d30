/* Builds the exported model and its protobuf message.
 *
 * Nodes refer to values by pointers instead of names, so that a value can later get a port's name, and unused values
 * are left out. The export owns all parts of the message and frees them. */
#include "engine/onnx/onnx-export-private.h"

#include "engine/core/loom-refuse.h"

#include <string.h>

#define X(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

static int
elem_type_of (LoomDType dtype)
{
  static const int of[LOOM_N_DTYPES] = {
    [LOOM_F64] = X (DOUBLE), [LOOM_F32] = X (FLOAT), [LOOM_F16] = X (FLOAT16), [LOOM_BF16] = X (BFLOAT16),
    [LOOM_I64] = X (INT64),  [LOOM_I32] = X (INT32), [LOOM_U8] = X (UINT8),    [LOOM_BOOL] = X (BOOL),
  };

  return of[dtype];
}

static gpointer
keep (OnnxExport *all, gpointer memory)
{
  g_ptr_array_add (all->memory, memory);
  return memory;
}

static char *
text (OnnxExport *all, const char *s)
{
  return s != NULL ? keep (all, g_strdup (s)) : NULL;
}

/* ---- values ----------------------------------------------------------- */

/* A name that no other value has. */
static char *
free_name (OnnxExport *all, const char *wanted)
{
  char *name = g_strdup (wanted);

  for (guint i = 2; g_hash_table_contains (all->names, name); i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%u", wanted, i);
    }
  g_hash_table_add (all->names, g_strdup (name));
  return name;
}

OnnxVar *
onnx_var_new (OnnxExport *all, const char *wanted_name)
{
  OnnxVar *v = g_new0 (OnnxVar, 1);

  v->name = free_name (all, wanted_name);
  g_ptr_array_add (all->vars, v);
  return v;
}

void
onnx_var_take_name (OnnxExport *all, OnnxVar *v, const char *name)
{
  if (v->producer == NULL || v->is_named || g_hash_table_contains (all->names, name))
    return;
  g_hash_table_remove (all->names, v->name);
  g_free (v->name);
  v->name = g_strdup (name);
  v->is_named = TRUE;
  g_hash_table_add (all->names, g_strdup (name));
}

void
onnx_var_set_type (OnnxVar *v, const LoomType *type)
{
  if (v->producer == NULL || v->has_type)
    return;
  v->type = *type;
  v->has_type = TRUE;
}

gboolean
onnx_var_get_type (const OnnxVar *v, LoomType *type)
{
  if (v->tensor != NULL)
    *type = (LoomType){ v->tensor->dtype, loom_tensor_shape (v->tensor) };
  else
    *type = v->type;
  return v->tensor != NULL || v->has_type || (v->producer == NULL && !v->is_open);
}

OnnxVar *
onnx_var_is_ints (OnnxVar *v, gint64 n)
{
  onnx_var_set_type (v, &(LoomType){ LOOM_I64, loom_shape (n < 0 ? 0 : 1, &n) });
  return v;
}

OnnxVar *
onnx_tensor_var (OnnxExport *all, LoomTensor *t, const char *wanted_name)
{
  g_autofree char *key = NULL;
  OnnxVar *v = NULL;

  if (t->bytes <= 256)
    {
      g_autofree char *numbers = g_base64_encode (t->data, t->bytes);
      LoomShape shape = loom_tensor_shape (t);
      g_autofree char *dims = loom_shape_to_attribute (&shape);
      key = g_strdup_printf ("%d %s %s", t->dtype, dims, numbers);
      v = g_hash_table_lookup (all->constants, key);
    }
  if (v == NULL)
    {
      v = onnx_var_new (all, wanted_name);
      v->tensor = loom_tensor_ref (t);
      if (key != NULL)
        g_hash_table_insert (all->constants, g_steal_pointer (&key), v);
    }
  return v;
}

/* A constant is named after its first user. */
static OnnxVar *
constant (OnnxExport *all, LoomTensor *t)
{
  g_autofree char *name = g_strdup_printf ("%s/constant", all->path != NULL ? all->path : "");

  return onnx_tensor_var (all, t, name);
}

OnnxVar *
onnx_number_var (OnnxExport *all, LoomDType dtype, double value)
{
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, 0, NULL, NULL);

  loom_tensor_set (t, 0, value);
  return constant (all, t);
}

OnnxVar *
onnx_ints_var (OnnxExport *all, guint n, const gint64 *values)
{
  gint64 count = n;
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_I64, 1, &count, NULL);

  if (n > 0)
    memcpy (t->data, values, n * sizeof *values);
  return constant (all, t);
}

/* ---- nodes ------------------------------------------------------------ */

static void
body_free (gpointer data)
{
  OnnxBody *body = data;

  g_ptr_array_unref (body->nodes);
  g_ptr_array_unref (body->inputs);
  g_ptr_array_unref (body->outputs);
  g_free (body);
}

OnnxOutNode *
onnx_add_node (OnnxExport *all, const char *op, guint n_in, OnnxVar **in)
{
  OnnxOutNode *node = g_new0 (OnnxOutNode, 1);

  node->op = op;
  node->path = all->path;
  node->in = g_ptr_array_new ();
  node->out = g_ptr_array_new ();
  node->attributes = g_ptr_array_new ();
  node->bodies = g_ptr_array_new_with_free_func (body_free);
  for (guint i = 0; i < n_in; i++)
    g_ptr_array_add (node->in, in[i]);
  while (node->in->len > 0 && node->in->pdata[node->in->len - 1] == NULL)
    g_ptr_array_set_size (node->in, (int)node->in->len - 1);
  g_ptr_array_add (all->out_nodes, node);
  return node;
}

OnnxVar *
onnx_node_result (OnnxExport *all, OnnxOutNode *node, guint i)
{
  while (node->out->len <= i)
    {
      g_autofree char *name = g_strdup_printf ("%s/%s", node->path != NULL ? node->path : "", node->op);
      OnnxVar *v = onnx_var_new (all, name);
      v->producer = node;
      g_ptr_array_add (node->out, v);
    }
  return node->out->pdata[i];
}

OnnxVar *
onnx_call (OnnxExport *all, const char *op, guint n_in, OnnxVar **in)
{
  return onnx_node_result (all, onnx_add_node (all, op, n_in, in), 0);
}

static Onnx__AttributeProto *
attribute (OnnxExport *all, OnnxOutNode *node, const char *name, Onnx__AttributeProto__AttributeType type)
{
  Onnx__AttributeProto *a = keep (all, g_new (Onnx__AttributeProto, 1));

  onnx__attribute_proto__init (a);
  a->name = text (all, name);
  a->has_type = TRUE;
  a->type = type;
  g_ptr_array_add (node->attributes, a);
  return a;
}

void
onnx_node_set_int (OnnxExport *all, OnnxOutNode *node, const char *name, gint64 value)
{
  Onnx__AttributeProto *a = attribute (all, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

  a->has_i = TRUE;
  a->i = value;
}

void
onnx_node_set_ints (OnnxExport *all, OnnxOutNode *node, const char *name, guint n, const gint64 *values)
{
  Onnx__AttributeProto *a = attribute (all, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

  a->n_ints = n;
  a->ints = keep (all, g_memdup2 (values, MAX (n, 1) * sizeof *values));
}

void
onnx_node_set_float (OnnxExport *all, OnnxOutNode *node, const char *name, double value)
{
  Onnx__AttributeProto *a = attribute (all, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

  a->has_f = TRUE;
  a->f = (float)value;
}

void
onnx_node_set_string (OnnxExport *all, OnnxOutNode *node, const char *name, const char *value)
{
  Onnx__AttributeProto *a = attribute (all, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

  a->has_s = TRUE;
  a->s.data = (guint8 *)text (all, value);
  a->s.len = strlen (value);
}

OnnxBody *
onnx_node_add_body (OnnxExport *all, OnnxOutNode *node, const char *name)
{
  OnnxBody *body = g_new0 (OnnxBody, 1);

  body->attribute = attribute (all, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
  body->nodes = g_ptr_array_new_with_free_func (onnx_out_node_free);
  body->inputs = g_ptr_array_new ();
  body->outputs = g_ptr_array_new ();
  g_ptr_array_add (node->bodies, body);
  return body;
}

void
onnx_out_node_free (gpointer data)
{
  OnnxOutNode *node = data;

  g_ptr_array_unref (node->bodies);
  g_ptr_array_unref (node->in);
  g_ptr_array_unref (node->out);
  g_ptr_array_unref (node->attributes);
  g_free (node);
}

void
onnx_node_set_strings (OnnxExport *all, OnnxOutNode *node, const char *name, guint n, const char *const *values)
{
  Onnx__AttributeProto *a = attribute (all, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);

  a->n_strings = n;
  a->strings = keep (all, g_new0 (ProtobufCBinaryData, MAX (n, 1)));
  for (guint i = 0; i < n; i++)
    {
      a->strings[i].data = (guint8 *)text (all, values[i]);
      a->strings[i].len = strlen (values[i]);
    }
}

/* ---- common small nodes ----------------------------------------------- */

OnnxVar *
onnx_to_type (OnnxExport *all, OnnxVar *x, LoomDType from, LoomDType to)
{
  if (from == to)
    return x;
  OnnxOutNode *node = onnx_add_node (all, "Cast", ONNX_VARS (x));
  onnx_node_set_int (all, node, "to", elem_type_of (to));
  OnnxVar *y = onnx_node_result (all, node, 0);
  LoomType type;
  if (onnx_var_get_type (x, &type))
    onnx_var_set_type (y, &(LoomType){ to, type.shape });
  return y;
}

/* One unknown size can be −1, which Reshape replaces by the remainder. This also works for a dynamic size if it is the
 * only one and no other size is 0. */
OnnxVar *
onnx_to_shape (OnnxExport *all, OnnxVar *x, guint n, const OnnxSize *sizes)
{
  gint64 plain[LOOM_SHAPE_MAX_RANK] = { 0 };
  guint dynamic = 0;
  gboolean has_zero = FALSE;

  for (guint i = 0; i < n; i++)
    {
      gboolean is_plain = sizes[i].known && sizes[i].coef == 0 && sizes[i].of == NULL;
      plain[i] = is_plain ? sizes[i].add : -1;
      dynamic += !is_plain;
      has_zero = has_zero || (is_plain && sizes[i].add == 0);
    }
  OnnxVar *shape = dynamic == 0 || (dynamic == 1 && !has_zero) ? onnx_ints_var (all, n, plain) : NULL;
  if (shape == NULL)
    {
      OnnxSize copy[LOOM_SHAPE_MAX_RANK];
      guint unknown = 0;
      memcpy (copy, sizes, n * sizeof *sizes);
      for (guint i = 0; i < n; i++)
        if (!copy[i].known && unknown++ == 0)
          copy[i] = (OnnxSize){ .known = TRUE, .add = -1 };
      shape = onnx_sizes_var (all, n, copy);
    }
  if (shape == NULL)
    return NULL;
  OnnxOutNode *node = onnx_add_node (all, "Reshape", ONNX_VARS (x, shape));
  if (has_zero)
    onnx_node_set_int (all, node, "allowzero", 1);
  return onnx_node_result (all, node, 0);
}

OnnxVar *
onnx_transpose (OnnxExport *all, OnnxVar *x, guint n, const gint64 *order)
{
  gboolean same = TRUE;

  for (guint i = 0; i < n; i++)
    same = same && order[i] == (gint64)i;
  if (same)
    return x;
  OnnxOutNode *node = onnx_add_node (all, "Transpose", ONNX_VARS (x));
  onnx_node_set_ints (all, node, "perm", n, order);
  return onnx_node_result (all, node, 0);
}

OnnxVar *
onnx_with_axes (OnnxExport *all, const char *op, OnnxVar *x, guint n, const gint64 *axes)
{
  return onnx_call (all, op, ONNX_VARS (x, onnx_ints_var (all, n, axes)));
}

/* ---- the message ------------------------------------------------------ */

static char **
names_of (OnnxExport *all, GPtrArray *vars)
{
  char **names = keep (all, g_new0 (char *, vars->len + 1));

  for (guint i = 0; i < vars->len; i++)
    {
      const OnnxVar *v = vars->pdata[i];
      names[i] = v != NULL ? v->name : text (all, "");
    }
  return names;
}

static Onnx__GraphProto *make_body (OnnxExport *all, const OnnxBody *from);

static Onnx__NodeProto *
make_node (OnnxExport *all, OnnxOutNode *from)
{
  Onnx__NodeProto *node = keep (all, g_new (Onnx__NodeProto, 1));
  const OnnxVar *first = from->out->pdata[0];

  onnx__node_proto__init (node);
  node->op_type = text (all, from->op);
  node->name = text (all, first->name);
  node->n_input = from->in->len;
  node->input = names_of (all, from->in);
  node->n_output = from->out->len;
  node->output = names_of (all, from->out);
  for (guint i = 0; i < from->bodies->len; i++)
    {
      const OnnxBody *body = from->bodies->pdata[i];
      body->attribute->g = make_body (all, body);
    }
  node->n_attribute = from->attributes->len;
  node->attribute = (Onnx__AttributeProto **)from->attributes->pdata;
  return node;
}

/* "B", "2*B", "B*T": the notation that viewers show. */
static char *
dim_text (OnnxExport *all, LoomDim d)
{
  GString *s = g_string_new (NULL);

  if (d.coef != 1)
    g_string_append_printf (s, "%" G_GINT64_FORMAT, d.coef);
  for (int i = 0; i < LOOM_DIM_MAX_SYMBOLS && d.symbol[i]; i++)
    g_string_append_printf (s, "%s%c", s->len > 0 ? "*" : "", d.symbol[i]);
  return keep (all, g_string_free (s, FALSE));
}

static Onnx__ValueInfoProto *
make_info (OnnxExport *all, const OnnxVar *v)
{
  Onnx__ValueInfoProto *info = keep (all, g_new (Onnx__ValueInfoProto, 1));
  Onnx__TypeProto *type = keep (all, g_new (Onnx__TypeProto, 1));
  Onnx__TypeProto__Tensor *tensor = keep (all, g_new (Onnx__TypeProto__Tensor, 1));
  Onnx__TensorShapeProto *shape = keep (all, g_new (Onnx__TensorShapeProto, 1));

  onnx__value_info_proto__init (info);
  onnx__type_proto__init (type);
  onnx__type_proto__tensor__init (tensor);
  onnx__tensor_shape_proto__init (shape);
  info->name = v->name;
  if (v->is_open)
    return info;
  info->doc_string = text (all, v->doc);
  info->type = type;
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  tensor->has_elem_type = TRUE;
  tensor->elem_type = elem_type_of (v->type.dtype);
  tensor->shape = shape;
  shape->n_dim = (size_t)v->type.shape.rank;
  shape->dim = keep (all, g_new0 (Onnx__TensorShapeProto__Dimension *, LOOM_SHAPE_MAX_RANK));
  for (int i = 0; i < v->type.shape.rank; i++)
    {
      LoomDim d = v->type.shape.dim[i];
      shape->dim[i] = keep (all, g_new (Onnx__TensorShapeProto__Dimension, 1));
      onnx__tensor_shape_proto__dimension__init (shape->dim[i]);
      if (loom_dim_is_unknown (d))
        continue;
      shape->dim[i]->value_case = loom_dim_is_known (d) ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
                                                        : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      if (loom_dim_is_known (d))
        shape->dim[i]->dim_value = d.coef;
      else
        shape->dim[i]->dim_param = dim_text (all, d);
    }
  return info;
}

static Onnx__StringStringEntryProto *
make_entry (OnnxExport *all, const char *key, const char *value)
{
  Onnx__StringStringEntryProto *entry = keep (all, g_new (Onnx__StringStringEntryProto, 1));

  onnx__string_string_entry_proto__init (entry);
  entry->key = text (all, key);
  entry->value = text (all, value);
  return entry;
}

/* Readers map the file and require page alignment of each tensor. Small tensors stay in the model for shape
 * inference. */
#define EXTERNAL_ALIGN 4096
#define EXTERNAL_MIN   1024

static void
set_external (OnnxExport *all, Onnx__TensorProto *proto, OnnxVar *v, const char *file)
{
  v->is_external = TRUE;
  v->offset = (all->outside + EXTERNAL_ALIGN - 1) / EXTERNAL_ALIGN * EXTERNAL_ALIGN;
  all->outside = v->offset + v->tensor->bytes;
  g_autofree char *at = g_strdup_printf ("%" G_GUINT64_FORMAT, v->offset);
  g_autofree char *length = g_strdup_printf ("%" G_GSIZE_FORMAT, v->tensor->bytes);

  proto->has_data_location = TRUE;
  proto->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  proto->n_external_data = 3;
  proto->external_data = keep (all, g_new0 (Onnx__StringStringEntryProto *, 3));
  proto->external_data[0] = make_entry (all, "location", file);
  proto->external_data[1] = make_entry (all, "offset", at);
  proto->external_data[2] = make_entry (all, "length", length);
}

static Onnx__TensorProto *
make_tensor (OnnxExport *all, OnnxVar *v, const char *external)
{
  Onnx__TensorProto *proto = keep (all, g_new (Onnx__TensorProto, 1));
  const LoomTensor *t = v->tensor;

  onnx__tensor_proto__init (proto);
  proto->name = v->name;
  proto->has_data_type = TRUE;
  proto->data_type = elem_type_of (t->dtype);
  proto->n_dims = (size_t)t->rank;
  proto->dims = (int64_t *)t->dim;
  if (external != NULL && t->bytes >= EXTERNAL_MIN)
    {
      set_external (all, proto, v, external);
      return proto;
    }
  proto->has_raw_data = TRUE;
  proto->raw_data.data = t->data;
  proto->raw_data.len = t->bytes;
  return proto;
}

/* Marks nodes from the outputs back: a node is needed if one of its results is, and then all outputs of its body
 * are. */
static void
mark (GPtrArray *nodes, GPtrArray *outputs)
{
  for (guint i = 0; i < outputs->len; i++)
    ((OnnxVar *)outputs->pdata[i])->needed = TRUE;
  for (guint i = nodes->len; i-- > 0;)
    {
      const OnnxOutNode *node = nodes->pdata[i];
      if (!onnx_node_is_needed (node))
        continue;
      for (guint k = 0; k < node->bodies->len; k++)
        {
          const OnnxBody *body = node->bodies->pdata[k];
          mark (body->nodes, body->outputs);
        }
      for (guint k = 0; k < node->in->len; k++)
        if (node->in->pdata[k])
          ((OnnxVar *)node->in->pdata[k])->needed = TRUE;
    }
}

void
onnx_export_mark (OnnxExport *all)
{
  mark (all->out_nodes, all->outputs);
}

gboolean
onnx_node_is_needed (const OnnxOutNode *node)
{
  for (guint k = 0; k < node->out->len; k++)
    if (((OnnxVar *)node->out->pdata[k])->needed)
      return TRUE;
  return FALSE;
}

/* The types of results except outputs, which have their own. */
static void
make_infos (OnnxExport *all, Onnx__GraphProto *graph, GPtrArray *nodes, GPtrArray *outputs)
{
  guint n = 0;

  for (guint i = 0; i < nodes->len; i++)
    n += ((OnnxOutNode *)nodes->pdata[i])->out->len;
  graph->value_info = keep (all, g_new0 (Onnx__ValueInfoProto *, n + 1));
  for (guint i = 0; i < nodes->len; i++)
    {
      const OnnxOutNode *node = nodes->pdata[i];

      for (guint k = 0; onnx_node_is_needed (node) && k < node->out->len; k++)
        if (((OnnxVar *)node->out->pdata[k])->has_type && !g_ptr_array_find (outputs, node->out->pdata[k], NULL))
          graph->value_info[graph->n_value_info++] = make_info (all, node->out->pdata[k]);
    }
}

/* Writes the nodes, inputs and outputs of a graph. */
static Onnx__GraphProto *
make_nodes (OnnxExport *all, const char *name, GPtrArray *nodes, GPtrArray *inputs, GPtrArray *outputs)
{
  Onnx__GraphProto *graph = keep (all, g_new (Onnx__GraphProto, 1));

  onnx__graph_proto__init (graph);
  graph->name = text (all, name != NULL && *name ? name : "graph");
  graph->node = keep (all, g_new0 (Onnx__NodeProto *, nodes->len + 1));
  for (guint i = 0; i < nodes->len; i++)
    if (onnx_node_is_needed (nodes->pdata[i]))
      graph->node[graph->n_node++] = make_node (all, nodes->pdata[i]);
  make_infos (all, graph, nodes, outputs);
  graph->input = keep (all, g_new0 (Onnx__ValueInfoProto *, inputs->len + 1));
  for (guint i = 0; i < inputs->len; i++)
    graph->input[graph->n_input++] = make_info (all, inputs->pdata[i]);
  graph->output = keep (all, g_new0 (Onnx__ValueInfoProto *, outputs->len + 1));
  for (guint i = 0; i < outputs->len; i++)
    graph->output[graph->n_output++] = make_info (all, outputs->pdata[i]);
  return graph;
}

/* Its constants and weights are in the graph around it. */
static Onnx__GraphProto *
make_body (OnnxExport *all, const OnnxBody *from)
{
  return make_nodes (all, "body", from->nodes, from->inputs, from->outputs);
}

static Onnx__GraphProto *
make_graph (OnnxExport *all, const char *name, const char *external)
{
  Onnx__GraphProto *graph = make_nodes (all, name, all->out_nodes, all->inputs, all->outputs);

  graph->initializer = keep (all, g_new0 (Onnx__TensorProto *, all->vars->len + 1));
  for (guint i = 0; i < all->vars->len; i++)
    {
      OnnxVar *v = all->vars->pdata[i];
      if (v->tensor != NULL && v->needed)
        graph->initializer[graph->n_initializer++] = make_tensor (all, v, external);
    }
  return graph;
}

GBytes *
onnx_export_pack (OnnxExport *all, const char *name, const char *doc, const GPtrArray *metadata, const char *external,
                  GError **error)
{
  Onnx__ModelProto model;
  Onnx__OperatorSetIdProto set, *sets[] = { &set };

  onnx__model_proto__init (&model);
  onnx__operator_set_id_proto__init (&set);
  set.domain = text (all, "");
  set.has_version = TRUE;
  set.version = ONNX_EXPORT_OPSET;
  model.n_opset_import = 1;
  model.opset_import = sets;
  model.has_ir_version = TRUE;
  model.ir_version = ONNX_EXPORT_IR_VERSION;
  model.producer_name = text (all, "gradloom");
  model.producer_version = text (all, LOOM_VERSION);
  model.doc_string = text (all, doc);
  model.metadata_props = keep (all, g_new0 (Onnx__StringStringEntryProto *, metadata->len / 2 + 1));
  for (guint i = 0; i + 1 < metadata->len; i += 2)
    model.metadata_props[model.n_metadata_props++] = make_entry (all, metadata->pdata[i], metadata->pdata[i + 1]);
  all->outside = 0;
  model.graph = make_graph (all, name, external);
  gsize length = onnx__model_proto__get_packed_size (&model);
  guint8 *bytes = g_try_malloc (length);
  if (bytes == NULL)
    return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY,
                             "There is not enough memory for the model of %" G_GSIZE_FORMAT " bytes.", length);
  onnx__model_proto__pack (&model, bytes);
  return g_bytes_new_take (bytes, length);
}
