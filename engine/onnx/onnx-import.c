/* Imports a model node by node through the tables of mappings.
 *
 * Each node follows those that it reads from, so one pass is enough. A node with known inputs is folded. A node that
 * cannot be translated only invalidates nodes that depend on it, so that everything unsupported is reported at once. */
#include "engine/onnx/onnx-constant.h"

#include <stdlib.h>
#include <string.h>

#include "engine/core/loom-file.h"
#include "engine/core/loom-refuse.h"

/* ---- one node --------------------------------------------------------- */

/* The mapping of a descriptor with `op`: inputs in order, attributes renamed. */
static void
map_same (OnnxCtx *c)
{
  guint n = onnx_n_inputs (c);
  const OnnxWire *in[8];
  g_auto (GStrv) pairs = g_strsplit (c->map->attributes != NULL ? c->map->attributes : "", " ", -1);
  const char *args[2][2] = { { NULL } };

  if (n > G_N_ELEMENTS (in))
    {
      onnx_fail (c, "it has too many inputs.");
      return;
    }
  for (guint i = 0; i < n; i++)
    in[i] = onnx_has (c, i) ? onnx_in (c, i) : NULL;
  for (guint i = 0; pairs[i] != NULL && i < G_N_ELEMENTS (args); i++)
    {
      g_auto (GStrv) pair = g_strsplit (pairs[i], "=", 3); /* onnx=ours=default */
      args[i][0] = onnx_text (c, "%s", pair[1]);
      args[i][1] = onnx_number (c, onnx_attr_float (c, pair[0], g_ascii_strtod (pair[2], NULL)));
    }
  const OnnxWire *y = onnx_emit (c, c->map->op, n, in, args[0][0], args[0][1], args[1][0], args[1][1], NULL);
  /* The smallest number of a type has no counterpart. */
  if (g_str_equal (c->map->op, "neg") || g_str_equal (c->map->op, "abs"))
    y = onnx_wrap (c, y, onnx_elem_type (c, 0));
  onnx_out (c, 0, y);
}

static void
note_mapped (OnnxImport *all, const OnnxCtx *c)
{
  g_autoptr (GString) s = g_string_new (c->node->op_type);

  for (guint i = c->first_node; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];
      const char *name = node->op->name;
      if (!g_str_equal (name, "constant") && node->op->role != LOOM_ROLE_PARAMETER)
        g_string_append_printf (s, "%s%s", strchr (s->str, ' ') != NULL ? " + " : " → ", name);
    }
  if (strchr (s->str, ' ') != NULL)
    g_ptr_array_add (all->mapped, g_strdup (s->str));
}

static gboolean
fold_node (OnnxImport *all, const Onnx__NodeProto *node)
{
  g_autoptr (LoomTensor) t = node->n_output == 1 ? onnx_fold (all, node, FALSE, 0) : NULL;

  if (t == NULL)
    return FALSE;
  if (onnx_own_value (all, node->output[0]) == NULL)
    {
      OnnxValue *value = onnx_declare (all, node->output[0]);
      value->constant = g_steal_pointer (&t);
      value->producer = node;
      onnx_report_types (all, node);
    }
  return TRUE;
}

/* Reports an operator without a mapping, with the remedy if there is one. */
static void
fail_unknown (OnnxCtx *c, const char *domain, gboolean input_is_missing)
{
  if (g_str_equal (domain, "com.microsoft.nchwc"))
    onnx_fail (
        c, "onnxruntime has laid it out for this processor (“%s”). Save the model with ORT_ENABLE_EXTENDED at most.",
        domain);
  else if (g_str_equal (domain, "com.microsoft"))
    onnx_fail (c,
               "the operator (of “%s”) is not supported. onnxruntime's optimiser creates such operators; import the "
               "model before optimisation.",
               domain);
  else
    onnx_fail (c, "the operator is not supported%s%s%s.", *domain ? " (of “" : "", domain,
               *domain            ? "”)"
               : input_is_missing ? ", and its input is missing too"
                                  : "");
}

/* An Identity by which an iteration passes on a state unchanged: another name of its outer value. */
static gboolean
is_kept (OnnxImport *all, const Onnx__NodeProto *node)
{
  const char *outside = all->kept != NULL && g_strcmp0 (node->op_type, "Identity") == 0 && node->n_input == 1
                            ? g_hash_table_lookup (all->kept, node->input[0])
                            : NULL;

  if (outside != NULL && node->n_output == 1)
    g_hash_table_insert (all->kept, node->output[0], (gpointer)outside);
  return outside != NULL;
}

/* Nodes of the graph itself, not of bodies, are grouped by the modules of the network. */
static void
name_nodes (OnnxCtx *c)
{
  for (guint i = c->first_node; c->all->module == NULL && i < c->all->nodes->len; i++)
    {
      OnnxNode *node = c->all->nodes->pdata[i];

      if (node->path == NULL)
        node->path = onnx_module_path (c->node, c->all->classes);
    }
}

/* PyTorch's exporter stores equal tensors once, so zeros that are the biases of several layers would be one tied
 * weight. A reader in a module whose own weight of that name is missing from the model gets its own, or the missing one
 * that its call names. Weights that differ from each other are equal only if they are tied. */
static void
untie (OnnxImport *all, const Onnx__NodeProto *node)
{
  g_autofree char *path = NULL;

  for (gsize i = 0; g_hash_table_size (all->kinds) > 0 && i < node->n_input; i++)
    {
      const OnnxValue *value = onnx_own_value (all, node->input[i]);
      const char *dot
          = value != NULL && value->constant != NULL && value->is_weight ? strrchr (value->name, '.') : NULL;

      if (dot == NULL || !g_hash_table_contains (all->kinds, value->name))
        continue;
      if (path == NULL)
        path = onnx_module_path (node, all->classes);
      g_autofree char *own = g_strconcat (path != NULL ? path : "", dot, NULL);
      const char *called = onnx_called_weight (all, node, value->name);
      if (called != NULL)
        {
          g_free (own);
          own = g_strdup (called);
        }
      if (g_str_equal (own, value->name) || !g_hash_table_contains (all->kinds, own)
          || onnx_own_value (all, own) != NULL || !onnx_tensor_is_uniform (value->constant))
        continue;
      OnnxValue *copy = onnx_declare (all, own);
      copy->constant = loom_tensor_ref (value->constant);
      copy->is_weight = TRUE;
      copy->elem_type = value->elem_type;
      guint uses = GPOINTER_TO_UINT (g_hash_table_lookup (all->uses, node->input[i]));
      g_hash_table_replace (all->uses, g_strdup (value->name), GUINT_TO_POINTER (MAX (uses, 1) - 1));
      g_hash_table_insert (all->uses, g_strdup (copy->name), GUINT_TO_POINTER (1));
      onnx_rename_input (all, node, i, own);
    }
}

static void
map_node (OnnxImport *all, const Onnx__NodeProto *node)
{
  const char *domain = node->domain != NULL && !g_str_equal (node->domain, "ai.onnx") ? node->domain : "";
  OnnxCtx c = { .all = all, .node = node, .first_node = all->nodes->len };
  const Onnx__FunctionProto *function = onnx_function_of (all, node);

  if (function == NULL && (fold_node (all, node) || is_kept (all, node)))
    return;
  c.map = function != NULL ? NULL : onnx_map_find (domain, node->op_type);
  for (gsize i = 0; i < node->n_input; i++)
    {
      const OnnxValue *value = *node->input[i] ? onnx_value_of (all, node->input[i]) : NULL;
      c.failed = c.failed || (value != NULL && value->failed);
    }
  if (function != NULL)
    {
      if (!c.failed)
        onnx_call_function (&c, function);
    }
  else if (c.map == NULL)
    {
      gboolean input_is_missing = c.failed;
      c.failed = FALSE;
      fail_unknown (&c, domain, input_is_missing);
    }
  else if (!c.failed)
    {
      if (c.map->map != NULL)
        c.map->map (&c);
      else
        map_same (&c);
      onnx_check_attributes (&c);
    }
  for (gsize i = 0; i < node->n_output; i++)
    if (*node->output[i] && (c.failed || onnx_own_value (all, node->output[i]) == NULL))
      {
        OnnxValue *value = onnx_declare (all, node->output[i]);
        value->producer = node;
        value->failed = TRUE;
        if (!c.failed)
          onnx_fail (&c, "its output number %d is not supported.", (int)i + 1), c.failed = FALSE;
      }
  onnx_report_types (all, node);
  if (!c.failed)
    onnx_recover (&c);
  name_nodes (&c);
  if (!c.failed)
    note_mapped (all, &c);
}

/* ---- inputs and outputs ------------------------------------------------------- */

/* "batch" is B, as is a first size without a name ("x.0"), and "sequence" is T if these letters are free; then any
 * letter. */
static gboolean
symbol_of (OnnxImport *all, const char *name, LoomDim *dim)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);
  char wanted = strstr (lower, "batch") != NULL || g_str_equal (lower, "n") || g_str_has_suffix (lower, ".0") ? 'B'
                : strstr (lower, "seq") != NULL || strstr (lower, "time") != NULL                             ? 'T'
                                                                                  : g_ascii_toupper (*name);
  int free_at = -1;

  for (guint i = 0; i < all->symbols->len; i++)
    if (g_strcmp0 (all->symbols->pdata[i], name) == 0)
      {
        *dim = loom_dim_symbol ('A' + i);
        return TRUE;
      }
  if (g_ascii_isupper (wanted) && wanted <= 'P' + 4 && all->symbols->pdata[wanted - 'A'] == NULL)
    free_at = wanted - 'A';
  for (int i = 0; free_at < 0 && i < 'P' - 'A'; i++)
    if (all->symbols->pdata[i] == NULL)
      free_at = i;
  if (free_at < 0)
    return FALSE;
  all->symbols->pdata[free_at] = g_strdup (name);
  *dim = loom_dim_symbol ('A' + free_at);
  return TRUE;
}

/* FALSE with a sentence if it is no tensor of a known rank. */
static gboolean
type_of (OnnxImport *all, const Onnx__ValueInfoProto *info, LoomType *type, char **why)
{
  const Onnx__TypeProto *proto = info->type;
  const Onnx__TypeProto__Tensor *tensor
      = proto != NULL && proto->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? proto->tensor_type : NULL;

  if (tensor == NULL)
    *why = g_strdup ("is a sequence, a map or an optional value, and graphs carry tensors only");
  else if (!onnx_wire_dtype (tensor->elem_type, &type->dtype))
    *why = g_strdup_printf ("is %s, a type that graphs do not have", onnx_type_name (tensor->elem_type));
  else if (tensor->shape == NULL)
    *why = g_strdup ("has no shape in the model; its number of dimensions must be known");
  else if (tensor->shape->n_dim > LOOM_SHAPE_MAX_RANK)
    *why = g_strdup ("has more than 8 dimensions");
  else
    type->shape.rank = (int)tensor->shape->n_dim;
  for (int i = 0; *why == NULL && i < type->shape.rank; i++)
    {
      const Onnx__TensorShapeProto__Dimension *d = tensor->shape->dim[i];
      g_autofree char *open = onnx_size_name (info, i);

      if (open == NULL && i == 0 && all->fixed_batch > 0)
        type->shape.dim[i] = all->batch;
      else if (open == NULL)
        type->shape.dim[i] = loom_dim (d->dim_value);
      else if (!symbol_of (all, open, &type->shape.dim[i]))
        *why = g_strdup ("has more dynamic sizes than there are letters for");
    }
  return *why == NULL;
}

static void
add_port (GPtrArray *ports, const char *name, const char *node, const LoomType *type)
{
  LoomOnnxPort *port = g_new0 (LoomOnnxPort, 1);

  port->name = g_strdup (name);
  port->node = g_strdup (node);
  port->type = *type;
  g_ptr_array_add (ports, port);
}

static void
port_free (gpointer data)
{
  LoomOnnxPort *port = data;

  g_free (port->name);
  g_free (port->node);
  g_free (port);
}

static void
add_input (OnnxImport *all, LoomOnnx *result, const Onnx__ValueInfoProto *info)
{
  LoomType type = { 0 };
  g_autofree char *why = NULL;
  g_autofree char *position = g_strdup_printf ("#%u", result->inputs->len);
  LoomTensor *given = all->given != NULL ? g_hash_table_lookup (all->given, info->name) : NULL;

  if (onnx_value_of (all, info->name) != NULL) /* an initialiser with an input of its name is a weight */
    return;
  if (given == NULL && all->given != NULL)
    given = g_hash_table_lookup (all->given, position);
  OnnxValue *value = onnx_declare (all, info->name);
  value->given = given != NULL ? loom_tensor_ref (given) : NULL;
  if (!type_of (all, info, &type, &why))
    {
      value->failed = TRUE;
      loom_faults_add (all->faults, LOOM_ERROR_DTYPE, 0, info->name, NULL, "The input %s.", why);
      add_port (result->inputs, info->name, NULL, &type);
      return;
    }
  g_autofree char *shape = loom_shape_to_attribute (&type.shape);
  OnnxNode *node = onnx_node_new (all, loom_op ("input"), info->name);
  onnx_node_set (node, "shape", shape);
  onnx_node_set (node, "dtype", loom_dtype_name (type.dtype));
  node->n_out = 1;
  node->out = g_new0 (OnnxWire, 1);
  node->out[0] = (OnnxWire){ .node = node, .port = g_intern_static_string ("out"), .type = type };
  value->wire = node->out;
  value->elem_type = info->type->tensor_type->elem_type;
  add_port (result->inputs, info->name, node->id, &type);
}

static gboolean
add_initializer (OnnxImport *all, const Onnx__TensorProto *proto)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *what = g_strdup_printf ("The tensor “%s”", proto->name != NULL ? proto->name : "");
  OnnxValue *value;

  if (proto->name == NULL || onnx_own_value (all, proto->name) != NULL)
    return TRUE;
  value = onnx_declare (all, proto->name);
  value->constant = onnx_tensor_read (all->external, proto, what, &error);
  value->is_weight = TRUE;
  value->elem_type = proto->data_type;
  if (value->constant == NULL)
    {
      value->failed = TRUE;
      /* A missing file is reported once, not for each of its tensors. */
      if (g_strcmp0 (all->last_error, error->message) != 0)
        loom_faults_add (all->faults, (LoomErrorCode)error->code, 0, NULL, NULL, "%s", error->message);
      g_free (all->last_error);
      all->last_error = g_strdup (error->message);
    }
  return value->constant != NULL;
}

static void
add_output (OnnxImport *all, LoomOnnx *result, const Onnx__ValueInfoProto *info)
{
  Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
  char *input[] = { info->name };
  OnnxCtx c = { .all = all, .node = &node };

  node.op_type = (char *)"Output";
  node.name = info->name;
  node.input = input;
  node.n_input = 1;
  const OnnxWire *wire = onnx_in (&c, 0);
  wire = onnx_emit (&c, "output", ONNX_IN (wire), NULL);
  add_port (result->outputs, info->name, c.failed ? NULL : wire->node->id, &wire->type);
}

/* ---- entry points ----------------------------------------------------- */

static gboolean
find_opset (OnnxImport *all, GError **error)
{
  for (gsize i = 0; i < all->model->n_opset_import; i++)
    {
      const Onnx__OperatorSetIdProto *set = all->model->opset_import[i];
      if (set->domain == NULL || !*set->domain || g_str_equal (set->domain, "ai.onnx"))
        all->opset = MAX (all->opset, set->version);
    }
  if (all->opset == 0)
    all->opset = 1; /* before there were sets */
  if (all->opset <= ONNX_NEWEST_OPSET)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
               "“%s” uses operator set %" G_GINT64_FORMAT " of ONNX; the newest supported one is %d. Export it with "
               "an older set (opset_version=17).",
               all->file, all->opset, ONNX_NEWEST_OPSET);
  return FALSE;
}

void
onnx_add_tensors (OnnxImport *all, const Onnx__GraphProto *graph)
{
  for (gsize i = 0; i < graph->n_initializer; i++)
    add_initializer (all, graph->initializer[i]);
  for (gsize i = 0; i < graph->n_sparse_initializer; i++)
    {
      const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
      const char *name = values != NULL && values->name != NULL ? values->name : "";
      onnx_declare (all, name)->failed = TRUE;
      loom_faults_add (all->faults, LOOM_ERROR_DTYPE, 0, NULL, NULL,
                       "The tensor “%s” is sparse; graphs carry dense tensors only.", name);
    }
}

/* A name that two nodes make, or a node and an input, has no value. */
static void
find_redefined (OnnxImport *all, const Onnx__GraphProto *graph)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (gsize i = 0; i < graph->n_input; i++)
    if (graph->input[i]->name != NULL)
      g_hash_table_add (names, graph->input[i]->name);
  for (gsize i = 0; i < graph->n_node; i++)
    for (gsize k = 0; k < graph->node[i]->n_output; k++)
      {
        char *name = graph->node[i]->output[k];

        if (*name == '\0' || g_hash_table_add (names, name))
          continue;
        onnx_declare (all, name)->failed = TRUE;
        loom_faults_add (all->faults, LOOM_ERROR_DATA, 0, NULL, NULL,
                         "“%s” is made twice, the second time by a node %s; in ONNX a name has one value.", name,
                         graph->node[i]->op_type != NULL ? graph->node[i]->op_type : "without an operator");
      }
}

void
onnx_map_nodes (OnnxImport *all, const Onnx__GraphProto *graph)
{
  g_autoptr (GPtrArray) nodes = onnx_nodes_in_order (graph);

  find_redefined (all, graph);
  onnx_count_uses (all->uses, graph);
  for (guint i = 0; i < nodes->len && all->outer == NULL; i++)
    {
      untie (all, nodes->pdata[i]);
      onnx_claim_originals (all, nodes->pdata[i]);
      onnx_restore_bias (all, nodes->pdata[i]);
    }
  for (guint i = 0; i < nodes->len; i++)
    if (((const Onnx__NodeProto *)nodes->pdata[i])->op_type != NULL)
      map_node (all, nodes->pdata[i]);
}

static gboolean
import_graph (OnnxImport *all, LoomOnnx *result)
{
  const Onnx__GraphProto *graph = all->model->graph;
  gboolean failed = FALSE;

  onnx_add_tensors (all, graph);
  for (gsize i = 0; i < graph->n_input; i++)
    if (graph->input[i]->name != NULL)
      add_input (all, result, graph->input[i]);
  onnx_map_nodes (all, graph);
  for (gsize i = 0; i < graph->n_output; i++)
    if (graph->output[i]->name != NULL)
      {
        add_output (all, result, graph->output[i]);
        const LoomOnnxPort *port = result->outputs->pdata[result->outputs->len - 1];
        failed = failed || port->node == NULL;
      }
  return !failed;
}

/* Lists each pair once, with its count. */
static void
count_mapped (const OnnxImport *all, GPtrArray *to)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < all->mapped->len; i++)
    {
      gpointer pair = all->mapped->pdata[i];
      g_hash_table_insert (counts, pair, GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (counts, pair)) + 1));
    }
  for (guint i = 0; i < all->mapped->len; i++)
    {
      const char *pair = all->mapped->pdata[i];
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, pair));
      if (n > 0)
        g_ptr_array_add (to, n > 1 ? g_strdup_printf ("%s (%u times)", pair, n) : g_strdup (pair));
      g_hash_table_remove (counts, pair);
    }
}

/* Exporters fold batch norm into the convolution before it, after which the network trains differently. PyTorch's
 * current one records the names of all weights; in other models, convolutions with biases without any norm may be such.
 */
static void
note_folded_norms (const OnnxImport *all, GPtrArray *notes)
{
  const Onnx__GraphProto *graph = all->model->graph;
  gboolean is_pytorch = g_strcmp0 (all->model->producer_name, "pytorch") == 0;
  guint n = 0;

  if (g_hash_table_size (all->kinds) > 0)
    {
      onnx_note_lost (all, notes);
      return;
    }
  for (gsize i = 0; i < graph->n_node; i++)
    {
      const Onnx__NodeProto *node = graph->node[i];
      if (node->op_type != NULL && g_str_has_suffix (node->op_type, "Normalization"))
        return;
      n += g_strcmp0 (node->op_type, "Conv") == 0 && node->n_input > 2 && *node->input[2];
    }
  if (n > 0)
    g_ptr_array_add (notes,
                     g_strdup_printf ("%u convolution%s a bias and no batch norm follows: if the network had batch "
                                      "norm, the exporter folded it into these weights, and training differs "
                                      "from that of the original network; to keep batch norm, export %s.",
                                      n, n == 1 ? " has" : "s have",
                                      is_pytorch ? "with torch.onnx.export (…, dynamo=True, optimize=False)"
                                                 : "the model again without that optimisation"));
}

static void
note_dequantized (OnnxImport *all, GPtrArray *notes)
{
  const Onnx__GraphProto *graph = all->model->graph;
  guint n = 0;

  for (gsize i = 0; i < graph->n_node; i++)
    {
      const Onnx__NodeProto *node = graph->node[i];
      const OnnxValue *value = g_strcmp0 (node->op_type, "DequantizeLinear") == 0 && node->n_output == 1
                                   ? onnx_own_value (all, node->output[0])
                                   : NULL;

      n += value != NULL && value->constant != NULL && value->is_weight;
    }
  if (n > 0)
    g_ptr_array_add (notes, g_strdup_printf ("%u quantised weight%s became floats, as DequantizeLinear computes them; "
                                             "training changes the floats.",
                                             n, n == 1 ? "" : "s"));
}

static void
finish (OnnxImport *all, LoomOnnx *result)
{
  result->opset = all->opset;
  count_mapped (all, result->mapped);
  note_folded_norms (all, result->notes);
  note_dequantized (all, result->notes);
  result->graph = onnx_write_graph (all, all->model->graph->name, result->weights);
  for (guint i = 0; i < result->inputs->len; i++)
    {
      LoomOnnxPort *port = result->inputs->pdata[i];
      const OnnxValue *value = onnx_value_of (all, port->name);
      if (value != NULL && value->wire != NULL && value->wire->node != NULL && !value->wire->node->live)
        g_clear_pointer (&port->node, g_free);
    }
}

static void
copy_faults (const LoomFaults *from, LoomFaults *to)
{
  for (guint i = 0; i < loom_faults_length (from); i++)
    {
      const LoomFault *fault = loom_faults_get (from, i);
      loom_faults_add (to, fault->code, 0, fault->node, fault->port, "%s", fault->message);
    }
}

/* For libprotobuf-c, which does not say why it returns nothing. */
static void *
allocate_cb (void *is_full, size_t n)
{
  void *p = malloc (n);

  if (p == NULL)
    *(gboolean *)is_full = TRUE;
  return p;
}

static void
free_cb (void *is_full, void *p)
{
  free (p);
}

/* NULL with the cause; for onnx__model_proto__free_unpacked(). */
static Onnx__ModelProto *
unpack (const void *data, gsize length, const char *name_for_errors, GError **error)
{
  gboolean is_full = FALSE;
  ProtobufCAllocator allocator = { allocate_cb, free_cb, &is_full };
  Onnx__ModelProto *model;

  if (!onnx_check_bytes (&onnx__model_proto__descriptor, data, length, name_for_errors, error))
    return NULL;
  model = onnx__model_proto__unpack (&allocator, length, data);
  if (model != NULL && model->graph != NULL)
    return model;
  if (is_full)
    loom_refuse (error, LOOM_ERROR_OUT_OF_MEMORY, "There is not enough memory to read “%s”.", name_for_errors);
  else
    loom_refuse (error, LOOM_ERROR_DATA, "“%s” contains no ONNX model.", name_for_errors);
  if (model != NULL)
    onnx__model_proto__free_unpacked (model, NULL);
  return NULL;
}

/* Whether a fault says that memory is missing: then the model may be one that can be read. */
static gboolean
lacks_memory (const LoomFaults *faults, GError **error)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (loom_faults_get (faults, i)->code == LOOM_ERROR_OUT_OF_MEMORY)
      {
        g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, loom_faults_get (faults, i)->message);
        return TRUE;
      }
  return FALSE;
}

static LoomOnnx *
read_once (const void *data, gsize length, const char *name_for_errors, const char *path, const LoomOnnxInputs *inputs,
           gboolean opens, LoomFaults *faults, GError **error)
{
  g_autoptr (LoomFaults) own = loom_faults_new ();
  g_autoptr (LoomOnnx) result = NULL;
  OnnxImport all = { .file = name_for_errors, .given = inputs != NULL ? inputs->values : NULL, .faults = own };
  gboolean done = FALSE;
  gsize copied = 0;

  all.model = unpack (data, length, name_for_errors, error);
  if (all.model == NULL)
    return NULL;
  all.functions = onnx_functions (all.model);
  all.copies = onnx_function_copies ();
  all.copied = &copied;
  all.lists = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  all.external = onnx_external_new (path);
  all.values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, onnx_value_free);
  all.ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  all.uses = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  all.nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)onnx_node_free);
  all.wires = g_ptr_array_new_with_free_func (g_free);
  all.pool = g_string_chunk_new (4096);
  all.memory = g_ptr_array_new_with_free_func (g_free);
  all.symbols = g_ptr_array_new_with_free_func (g_free);
  all.batch_outer = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  all.dropped = g_hash_table_new (NULL, NULL);
  g_ptr_array_set_size (all.symbols, 26);
  all.dynamic = g_array_new (FALSE, FALSE, sizeof (LoomDim));
  all.mapped = g_ptr_array_new_with_free_func (g_free);
  all.scopes = g_ptr_array_new_with_free_func (onnx_scope_free);
  all.modules = g_ptr_array_new_with_free_func (onnx_module_free);
  all.module_names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  all.classes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  onnx_signature (&all);
  result = g_new0 (LoomOnnx, 1);
  result->weights = loom_named_tensors_new ();
  result->inputs = g_ptr_array_new_with_free_func (port_free);
  result->outputs = g_ptr_array_new_with_free_func (port_free);
  result->mapped = g_ptr_array_new_with_free_func (g_free);
  result->notes = g_ptr_array_new_with_free_func (g_free);
  all.notes = result->notes;

  if (find_opset (&all, error) && onnx_sizes_fix (all.model->graph, inputs, error))
    {
      all.fixed_batch = opens ? onnx_batch_find (all.model->graph) : 0;
      if (all.fixed_batch > 0 && !symbol_of (&all, "batch", &all.batch))
        all.fixed_batch = 0;
      done = (!opens || all.fixed_batch > 0) && import_graph (&all, result);
      if (done && opens)
        done = onnx_batch_is_open (&all, result->outputs);
      result->batch = done && opens ? all.fixed_batch : 0;
      if (done && opens)
        g_ptr_array_add (result->notes,
                         g_strdup_printf ("the model is for batches of %" G_GINT64_FORMAT
                                          "; the graph takes any batch, and can be trained from a data set "
                                          "(--batch fixed keeps the model's).",
                                          all.fixed_batch));
      /* Nodes that no output needs may have faults before. */
      const guint n_faults = loom_faults_count (own);
      if (done)
        finish (&all, result);
      done = done && loom_faults_count (own) == n_faults;
      if (!done && !lacks_memory (own, error))
        {
          copy_faults (own, faults);
          onnx_sizes_report (all.model->graph, faults);
        }
    }
  g_ptr_array_unref (all.scopes);
  g_ptr_array_unref (all.modules);
  g_hash_table_unref (all.module_names);
  g_hash_table_unref (all.classes);
  g_hash_table_unref (all.kinds);
  g_hash_table_unref (all.targets);
  g_ptr_array_unref (all.mapped);
  g_ptr_array_unref (all.symbols);
  g_hash_table_unref (all.batch_outer);
  g_hash_table_unref (all.dropped);
  g_clear_pointer (&all.data_free, g_hash_table_unref);
  g_array_unref (all.dynamic);
  g_string_chunk_free (all.pool);
  g_ptr_array_unref (all.memory);
  g_ptr_array_unref (all.nodes);
  g_ptr_array_unref (all.wires);
  g_hash_table_unref (all.ids);
  g_hash_table_unref (all.uses);
  g_hash_table_unref (all.values);
  onnx_external_free (all.external);
  g_clear_pointer (&all.functions, g_hash_table_unref);
  g_ptr_array_unref (all.copies);
  g_ptr_array_unref (all.lists);
  g_free (all.last_error);
  onnx__model_proto__free_unpacked (all.model, NULL);
  return done ? g_steal_pointer (&result) : NULL;
}

static LoomOnnx *
read_model (const void *data, gsize length, const char *name_for_errors, const char *path, const LoomOnnxInputs *inputs,
            LoomFaults *faults, GError **error)
{
  /* The caller who gives sizes wants these. */
  const gboolean is_given = inputs != NULL && (inputs->sizes != NULL || inputs->shapes != NULL);
  const LoomOnnxBatch batch
      = inputs == NULL || (is_given && inputs->batch == LOOM_ONNX_BATCH_AUTO) ? LOOM_ONNX_BATCH_FIXED : inputs->batch;
  const gboolean must = batch == LOOM_ONNX_BATCH_OPEN;
  g_autoptr (LoomFaults) others = loom_faults_new ();
  g_autoptr (GError) local = NULL;
  LoomOnnx *model = NULL;

  if (batch != LOOM_ONNX_BATCH_FIXED)
    model = read_once (data, length, name_for_errors, path, inputs, TRUE, others, &local);
  if (model != NULL || must || g_error_matches (local, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY))
    {
      if (local != NULL)
        g_propagate_error (error, g_steal_pointer (&local));
      else if (model == NULL)
        copy_faults (others, faults);
      if (model == NULL && (error == NULL || *error == NULL) && loom_faults_length (faults) == 0)
        loom_faults_add (faults, LOOM_ERROR_SHAPE, 0, NULL, NULL,
                         "The batch cannot be open: the model's inputs have no fixed batch in common, or an output has "
                         "none. Leave out --batch open.");
      return model;
    }
  return read_once (data, length, name_for_errors, path, inputs, FALSE, faults, error);
}

LoomOnnx *
loom_onnx_read_data (const void *data, gsize length, const char *name_for_errors, const LoomOnnxInputs *inputs,
                     LoomFaults *faults, GError **error)
{
  return read_model (data, length, name_for_errors, NULL, inputs, faults, error);
}

LoomOnnx *
loom_onnx_read_file (const char *path, const LoomOnnxInputs *inputs, LoomFaults *faults, GError **error)
{
  g_autoptr (GMappedFile) file = loom_file_map (path, error);

  if (file == NULL)
    return NULL;
  return read_model (g_mapped_file_get_contents (file), g_mapped_file_get_length (file), path, path, inputs, faults,
                     error);
}

char **
loom_onnx_open_sizes (const char *path, GError **error)
{
  g_autoptr (GMappedFile) file = loom_file_map (path, error);
  Onnx__ModelProto *model = NULL;
  char **names;

  if (file == NULL)
    return NULL;
  const gconstpointer data = g_mapped_file_get_contents (file);
  const gsize length = g_mapped_file_get_length (file);

  model = unpack (data, length, path, error);
  if (model == NULL)
    return NULL;
  names = onnx_sizes_list (model->graph);
  onnx__model_proto__free_unpacked (model, NULL);
  return names;
}
